#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""window_seeds.py BIN FIRST LAST: the disk beside a partition stays as it is, whatever a tool does in the partition.

Each seed makes a disk with random partitions and random bytes between them, and a filesystem in one of them: as it was made, larger than
its partition, with a forged size, with a log that reaches behind the partition, or damaged by damage.py, with wrong or right checksums.
Then every tool runs on a copy of that disk, writing or reading. Demanded of each run: it ends by itself, within a minute, and no byte
outside of the partition differs, nor the size of the file. With the seed in XW_KEEP=DIR the disk of a failure is kept there.
Needs mke2fs and debugfs of e2fsprogs for the logs; without them there are none."""
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import damage  # noqa: E402
import disk  # noqa: E402

KIB, MIB = 1024, 1 << 20
HERE = os.path.dirname(os.path.abspath(__file__))
OPTIONS = [[], ['-O', '^metadata_csum,^64bit'], ['-O', '^has_journal'], ['-O', '^resize_inode,^metadata_csum,^has_journal,^64bit'], ['-t', 'ext2'],
           ['-O', 'bigalloc'], ['-O', 'inline_data'], ['-O', 'meta_bg,^resize_inode'], ['-O', 'orphan_file']]


class World:
    def __init__(self, tools, seed):
        self.tools, self.seed, self.rng = tools, seed, random.Random(seed)
        self.runs = 0

    def tool(self, name, *args):
        return subprocess.run([os.path.join(self.tools, name), *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=60)

    def layout(self):
        """Partitions in KiB: some side by side, some with a gap, from 4 to 7 MiB; the target is one of them."""
        rng = self.rng
        self.kind = rng.choice(['dos', 'dos', 'gpt', 'gpt', 'gpt4096'])
        at, parts = 1024, []
        logical_from = rng.choice([1, 2, 9]) if self.kind == 'dos' else 9
        for i in range(rng.randint(2, 4)):
            logical = i >= logical_from
            if logical and i == logical_from:
                at += 64
            elif logical:
                at += 4  # room for the boot record
            size = rng.randrange(4096, 7168, 4)
            parts.append((at, size, logical))
            at += size + rng.choice([0, 0, 4, 512, 1024])
        self.total = at // KIB + 2
        self.target = rng.randrange(len(parts))
        numbers, n_logical = [], 0
        for i, (_, _, logical) in enumerate(parts):
            n_logical += logical
            numbers.append(4 + n_logical if logical else i + 1)
        self.number = numbers[self.target]
        self.start, self.size = parts[self.target][0] * KIB, parts[self.target][1] * KIB
        data = bytearray(rng.randbytes(self.total * MIB))
        disk.write_table(data, self.kind, parts)
        self.disk = data

    def filesystem(self):
        """The bytes that go into the partition; at least 1 KiB blocks, so that sizes differ by few."""
        rng, size = self.rng, self.size
        self.shape = rng.choice(['good', 'large', 'large', 'forged', 'log', 'damaged', 'damaged', 'fixed sums'])
        larger = self.shape in ('large', 'log')
        length = size + rng.choice([4096, 65536, size, 8 * size]) if larger else size
        options = [] if self.shape == 'log' else rng.choice(OPTIONS)
        name = 'fs'
        if os.path.exists(name):
            os.remove(name)
        done = self.tool('xw-mkfs', '-q', '-b', rng.choice(['1024', '4096']), *options, '-d', 'src.tar', name, str(length // KIB) + 'k')
        if done.returncode:
            raise SystemExit('seed %d: xw-mkfs: %s' % (self.seed, done.stdout.decode()))
        if self.shape == 'log':
            self.write_log(name)
        with open(name, 'rb') as f:
            fs = bytearray(f.read())
        if self.shape == 'forged':
            self.forge(fs)
        elif self.shape in ('damaged', 'fixed sums'):
            command = [sys.executable, os.path.join(HERE, 'damage.py'), name, 'hurt', str(self.seed)]
            if self.shape == 'fixed sums':
                command.append('--fix-csums')
            if not subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode:
                with open('hurt', 'rb') as f:
                    fs = bytearray(f.read())
        return bytes(fs[:size])

    def write_log(self, name):
        """A transaction not yet replayed, with blocks behind the partition."""
        with open(name, 'rb') as f:
            bs = KIB << struct.unpack_from('<I', f.read(2048), 1024 + 24)[0]
        blocks = os.path.getsize(name) // bs
        places = ','.join(str(self.rng.randrange(self.size // bs, blocks)) for _ in range(3))
        with open('block', 'wb') as f:
            f.write(b'W' * bs * 3)
        if shutil.which('debugfs'):
            subprocess.run(['debugfs', '-w', '-f', '-', name], input=('jo\njw -b %s block\njc\n' % places).encode(),
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60)

    def forge(self, fs):
        """Another number of blocks, with a right checksum."""
        blocks = struct.unpack_from('<I', fs, 1024 + 4)[0]
        struct.pack_into('<I', fs, 1024 + 4, self.rng.choice([blocks + 1, blocks + 1000, 2 * blocks, 100 * blocks, 0x7fffffff]))
        if self.rng.random() < .3:
            struct.pack_into('<I', fs, 1024 + 0x150, self.rng.randrange(1, 100))
        struct.pack_into('<I', fs, 1024 + 1020, damage.crc32c(0xffffffff, fs[1024:1024 + 1020]))

    def commands(self):
        at = self.rng.choice([['--partition', str(self.number), 'disk'], ['--partition', str(self.number), 'disk'],
                              ['disk?offset=%d' % self.start]])
        rng = self.rng
        yield 'xw-import', ['-q', '--commit', rng.choice(['auto', 'inside', 'journal']), *at, 'add.tar']
        yield 'xw-import', ['-q', '-z', 'undo', *at, 'add.tar']
        yield 'xw-undo', ['-f', 'undo', *at]
        yield 'xw-tune', ['-q', *rng.choice([['-L', 'new'], ['-U', 'random'], ['-O', '^has_journal'], ['-O', 'metadata_csum'], ['-I', '512'],
                                             ['-f', '-E', 'clear_pending'], ['-Q', 'usrquota'], ['-j']]), *at]
        yield 'xw-age', ['-q', '--profile', 'pazdera', '--files', '30', '--ops', '100', *at]
        yield 'xw-export', ['-o', 'out.tar', *at]
        yield 'xw-debugfs', ['-w', '-R', rng.choice(['mkdir new', 'write big big', 'rm a', 'ssv blocks_count 99999', 'kill_file a',
                                                     'fallocate a 0 9000', 'zap_block -f a 0', 'setb 9000', 'freefrag']), *at]
        yield 'xw-debugfs', ['-R', rng.choice(['stats', 'ls -l', 'block_dump 8000', 'logdump -a', 'icheck 9000', 'dump a out']), *at]
        yield 'xw-dump', at
        yield 'xw-freefrag', at
        for mode in rng.sample(['-fy', '-fn', '-p', '-y', '-fyD'], 2):
            yield 'xw-fsck', [mode, *at]
        yield 'xw-fsck', ['-fy', '-z', 'undo', *at]
        yield 'xw-undo', ['undo', *at]
        if len(at) == 3:  # xw-mkfs has no ?offset=
            yield 'xw-mkfs', ['-Fq', *rng.choice(OPTIONS), *at, '%dk' % rng.choice([self.size // KIB + 1, 2 * self.size // KIB, 1 << 20])]
            yield 'xw-mkfs', ['-Fq', *rng.choice(OPTIONS), '-d', rng.choice(['src.tar', 'big']), *at]

    def check(self, name, args, base):
        """Run one tool on the disk as it is; True: it must be written again for the next."""
        try:
            done = self.tool(name, *args)
            status, text = done.returncode, done.stdout.decode(errors='replace')
        except subprocess.TimeoutExpired:
            status, text = -1, 'timeout'
        self.runs += 1
        with open('disk', 'rb') as f:
            now = f.read()
        end = self.start + self.size
        faults = []
        if status < 0 or status >= 97:
            faults.append('exit %d: %s' % (status, text[-300:]))
        if len(now) != len(base):
            faults.append('the disk has %d bytes, not %d' % (len(now), len(base)))
        elif now[:self.start] != base[:self.start] or now[end:] != base[end:]:
            at = next(i for i, (a, b) in enumerate(zip(now, base)) if a != b and not self.start <= i < end)
            faults.append('byte %d differs, outside of %d to %d' % (at, self.start, end))
        for fault in faults:
            print('seed %d, %s, %s: %s %s: %s' % (self.seed, self.kind, self.shape, name, ' '.join(args), fault))
            if os.environ.get('XW_KEEP'):
                with open(os.path.join(os.environ['XW_KEEP'], 'disk.%d' % self.seed), 'wb') as f:
                    f.write(base)
        return len(faults), now != base

    def run(self):
        self.layout()
        fs = self.filesystem()
        self.disk[self.start:self.start + len(fs)] = fs
        base, faults, stale = bytes(self.disk), 0, True
        for name, args in self.commands():
            if stale:
                with open('disk', 'wb') as f:
                    f.write(base)
            if 'undo' in args and name != 'xw-undo' and os.path.exists('undo'):
                os.remove('undo')
            if name == 'xw-undo' and not os.path.exists('undo'):
                continue
            n, stale = self.check(name, args, base)
            faults += n
            # an undo file belongs to the state that the run before has left
            stale = stale and not (name != 'xw-undo' and 'undo' in args)
        return faults


def main():
    tools, first, last = os.path.abspath(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    faults = runs = 0
    shapes = {}
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        rng = random.Random(0)
        os.mkdir('s')
        for name, size in (('a', 300000), ('b', 5000), ('c', 10)):
            with open('s/' + name, 'wb') as f:
                f.write(rng.randbytes(size))
        subprocess.run(['tar', '-cf', 'src.tar', '-C', 's', '.'], check=True)
        with open('big', 'wb') as f:
            f.write(rng.randbytes(8 * MIB))
        subprocess.run(['tar', '-cf', 'add.tar', 'big', 'src.tar'], check=True)
        for seed in range(first, last + 1):
            world = World(tools, seed)
            faults += world.run()
            runs += world.runs
            shapes[world.shape] = shapes.get(world.shape, 0) + 1
        os.chdir('/')
    print('%d seeds, %d runs, %d faults (%s)' % (last - first + 1, runs, faults,
                                                 ', '.join('%s %d' % pair for pair in sorted(shapes.items()))))
    return faults > 0


if __name__ == '__main__':
    sys.exit(main())
