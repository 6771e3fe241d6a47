#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Numbers, sizes, dates and modes as coreutils take them: numfmt, touch -d, chmod; and --mode of the tools as chmod(1) and GNU tar.
. "$(dirname "$0")/../cli/lib.sh"
PARSE=$XW_BUILD/o_parse
umask 0
cat >sweep.py <<'P'
import os, random, subprocess, sys
parse, what = sys.argv[1:3]
r = random.Random(37)
def ours(kind, lines, *more):
    out = subprocess.run([parse, kind, *more], input='\n'.join(lines) + '\n', capture_output=True, text=True, check=True).stdout
    return [l.strip() for l in out.split('\n')[:-1]]
def report(bad, n):
    for b in bad[:12]:
        print('# %r: %s, coreutils: %s' % b)
    print(n if not bad else '%d of %d differ' % (len(bad), n))
def clause():
    text = ''.join(r.sample('ugoa', r.randint(0, 2)))
    for _ in range(r.choice((1, 1, 1, 2, 3))):
        text += r.choice('+-=') + (r.choice('ugo') if r.random() < .2 else '%o' % r.randrange(0o10000) if r.random() < .1 else ''.join(r.sample('rwxXst', r.randint(0, 3))))
    return text
def modes(n):
    fixed = ['755', '0755', '00755', '6755', '06755', '=755', '+6000', '-7', 'u=rwxX', 'u+r-w', 'g=u', 'o=g', '+t', 'a-x+X', 'g-s', 'u=rwx,g=s', 'a=', '=', '+', '',
             'u', 'u+q', ',u+r', 'u+r,', '8', '10000', 'a=755', '=755+x', 'u=gr', 'ugo', '+8', '0', '00000', '77777', '7777', 'u=g=o', 'go-rwx,+X', 'ug+s', 'a+st', '7 ', 'x']
    return fixed + [','.join(clause() for _ in range(r.choice((1, 1, 2, 3)))) for _ in range(n - len(fixed))]
BITS = [0o0, 0o644, 0o755, 0o4755, 0o2711, 0o1777, 0o100, 0o640, 0o070, 0o6701]
def entries():
    os.mkdir('m')
    for b in BITS:
        for k in 'fd':
            n = 'm/%s%04o' % (k, b)
            open(n, 'w').close() if k == 'f' else os.mkdir(n)
            os.chmod(n, b)
def reset():
    for b in BITS:
        for k in 'fd':
            os.chmod('m/%s%04o' % (k, b), b)
def bits():
    return ' '.join('%04o' % (os.stat('m/%s%04o' % (k, b)).st_mode & 0o7777) for b in BITS for k in 'fd')
def chmod(e):
    reset()
    c = subprocess.run(['chmod', '--', e] + ['m/%s%04o' % (k, b) for b in BITS for k in 'fd'], capture_output=True)
    return '-' if c.returncode else bits()
if what == 'chmod':
    entries()
    todo = modes(800)
    got = ours('mode', todo, *['%04o' % b for b in BITS])
    report([(e, g, w) for e, g, w in ((e, g, chmod(e)) for e, g in zip(todo, got)) if g != w], len(todo))
if what == 'tools':                                     # tools MKFS EXPORT: 200 modes of 20 entries
    import tarfile
    mkfs, export = sys.argv[3:5]
    entries()
    subprocess.run(['tar', '-cf', 'm.tar', '-C', 'm', '.'], check=True)
    todo, bad = modes(200), []
    for i, e in enumerate(todo):
        want = chmod(e)
        reset()
        if os.path.exists('o.img'):
            os.unlink('o.img')
        x = subprocess.run([mkfs, '-q', '--mode=' + e, '-d', 'm' if i % 2 else 'm.tar', 'o.img'], capture_output=True)
        got = '-'
        if not x.returncode:
            subprocess.run([export, '-q', '-o', 'o.tar', 'o.img'], check=True)
            t = {m.name.rstrip('/').removeprefix('./'): m.mode for m in tarfile.open('o.tar')}
            got = ' '.join('%04o' % t.get('%s%04o' % (k, b), -1) for b in BITS for k in 'fd')
        if got != want:
            bad.append((e, got, want))
        if i % 4 == 0 and want != '-' and e:             # and GNU tar's --mode
            subprocess.run(['tar', '--mode=' + e, '-cf', 'g.tar', '-C', 'm', '.'], check=True)
            t = {m.name.rstrip('/').removeprefix('./'): m.mode for m in tarfile.open('g.tar')}
            tar = ' '.join('%04o' % t.get('%s%04o' % (k, b), -1) for b in BITS for k in 'fd')
            if tar != got:
                bad.append((e, got, 'tar ' + tar))
    report(bad, len(todo))
def touch(t):
    c = subprocess.run(['touch', '-d', t, 'ref'], capture_output=True)
    if c.returncode:
        return '-'
    ns = os.stat('ref').st_mtime_ns
    return '%s%d.%09d' % ('-' if ns < 0 else '', abs(ns) // 10**9, abs(ns) % 10**9)
if what == 'seconds':
    todo = ['-1.5', '-0.5', '-0', '0', '1', '+1', '-1.000000001', '-1.0000000001', '-1.9999999999', '1.9999999999', '1,5', '1.', '-', '', '1.5.5', '1e3', '0x10', '-0.000000000', '-.5', '.5']
    todo += ['%s%d.%0*d' % (r.choice(('', '-')), r.randrange(10**r.randint(1, 9)), k, r.randrange(10**k)) for k in (r.randint(1, 12) for _ in range(180))]
    got = ours('seconds', todo)
    report([(e, g, w) for e, g, w in ((e, g, touch('@' + e)) for e, g in zip(todo, got)) if g != w], len(todo))
if what == 'calendar':
    todo = ['2000-02-29', '2001-02-29', '2000-2-9', '1969-12-31 23:59:59', '2000-13-01', '2000-01-01 24:00', '2000-01-01 10:60', '2000-01-01T10:20', '2000-01-01 10:20:30.5',
            '2000-01-01 10:20Z', '2000-01-01 10:20 UTC', '2000-01-01 10:20+0130', '2000-01-01 10:20 -01:30', '2000-01-01 10:20+24', '2000-01-01 10:20+25', '2000-01-01 10:20 +05',
            '2024-03-10 02:30', '2024-03-10 03:30', '1969-12-31 19:00', '2000-00-01', '2000-01-00']
    todo += ['%04d-%02d-%02d %02d:%02d:%02d%s' % (r.randint(1902, 2100), r.randint(1, 13), r.randint(1, 31), r.randint(0, 24), r.randint(0, 60), r.randint(0, 59),
             r.choice(('', 'Z', ' UTC', '+0200', '-03:30', '.25', ',125 +01:00'))) for _ in range(180)]
    got = ours('calendar', todo)
    report([(e, g, w) for e, g, w in ((e, g, touch(e)) for e, g in zip(todo, got)) if g != w], len(todo))
if what == 'size':
    bad, n = [], 0
    for mode, units in (('iec', ['', 'K', 'M', 'G', 'T', 'P']), ('iec-i', ['Ki', 'Mi', 'Gi', 'Ti', 'Pi']), ('si', ['K', 'M', 'G', 'T', 'P'])):
        todo = ['%d%s%s' % (r.randrange(10**r.randint(1, 3)), r.choice(('', '.5', '.25', '.125', '.0')) if u else '', u) for u in units for _ in range(12)]
        got = ours('size', [t + ('B' if mode != 'iec' else '') for t in todo])
        want = [subprocess.run(['numfmt', '--from=' + mode, '--round=down', '--', t], capture_output=True, text=True).stdout.strip() or '-' for t in todo]
        bad += [b for b in zip(todo, got, want) if b[1] != b[2]]
        n += len(todo)
    report(bad, n)
P
sweep() { # sweep WHAT COUNT NAME
	local got
	got=$(timeout 300 python3 sweep.py "$PARSE" $1 "${@:4}" 2>.err)
	rm -rf m
	if [ "${got##*$'\n'}" = "$2" ]; then pass "$3"; else
		printf '%s\n' "$got"
		fail "$3"
	fi
}
sweep chmod 800 "800 modes, applied to 20 entries, are chmod's"
sweep tools 200 "--mode with 200 modes of 20 entries, from a directory and an archive, is chmod's, and GNU tar's" "$MKFS" "$EXPORT"
sweep seconds 200 "seconds with fractions, before and after 1970, are touch's"
export TZ=EST5EDT,M3.2.0,M11.1.0
sweep calendar 201 "dates, with and without a zone, are touch's"
sweep size 192 "sizes are numfmt's"
done_testing 5
