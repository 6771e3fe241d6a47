#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Container images against umoci, and skopeo before it: root, loop mounts.

    oci_umoci.py MKFS KIT random FIRST LAST     made-up images, one for each seed, in ten forms
    oci_umoci.py MKFS KIT real                  images that umoci, and skopeo from them, make of a host's directory
    oci_umoci.py MKFS KIT buildah               images that buildah makes of it: by commits, and by a file of instructions

For each image: what xw-mkfs makes of it, mounted, is what umoci unpacks: names, contents, types, modes, owners, times, devices,
extended attributes, and which names are one file. A form that umoci does not read (zstd, Docker's) it gets converted by skopeo, or
where skopeo cannot, as a layout with the same layers. Prints a line for each image, and exits 1 if one differs.
"""
import hashlib
import os
import random
import shutil
import stat
import subprocess
import sys
import tarfile

MKFS, KIT = sys.argv[1:3]
sys.path.insert(0, KIT)
import oci_make as make  # noqa: E402

SKOPEO = ["skopeo", "--insecure-policy", "copy", "-q"]


def run(*command):
    p = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if p.returncode:
        raise RuntimeError("%s: %s" % (" ".join(command), p.stdout.strip()))
    return p.stdout


# ---- trees ----

def look(top):
    found, inodes = {}, {}
    for base, dirs, files in os.walk(top):
        for path in [base] + [os.path.join(base, n) for n in dirs + files]:
            rel = os.path.relpath(path, top)
            if rel == "lost+found" or rel in found:
                continue
            st = os.lstat(path)
            kind = stat.S_IFMT(st.st_mode)
            what = ["%o" % st.st_mode, st.st_uid, st.st_gid, st.st_mtime_ns]
            if kind == stat.S_IFLNK:
                what.append(os.readlink(path))
            elif kind == stat.S_IFREG:
                with open(path, "rb") as f:
                    what.append(hashlib.sha256(f.read()).hexdigest())
            elif kind in (stat.S_IFCHR, stat.S_IFBLK):
                what.append((os.major(st.st_rdev), os.minor(st.st_rdev)))
            what.append(sorted((n, os.getxattr(path, n, follow_symlinks=False)) for n in os.listxattr(path, follow_symlinks=False)))
            found[rel] = what
            if kind != stat.S_IFDIR:
                inodes.setdefault(st.st_ino, []).append(rel)
    for names in inodes.values():
        for rel in names:
            found[rel].append(sorted(names))
    return found


def made(source, options=()):
    """What xw-mkfs makes of the source."""
    if os.path.exists("img"):
        os.unlink("img")
    run(MKFS, "-q", *options, "-d", source, "img")
    os.makedirs("mnt", exist_ok=True)
    run("mount", "-o", "loop,ro", "img", "mnt")
    try:
        return look("mnt")
    finally:
        run("umount", "mnt")


def unpacked(layout, ref="latest"):
    shutil.rmtree("bundle", ignore_errors=True)
    run("umoci", "unpack", "--image", "%s:%s" % (layout, ref), "bundle")
    return look("bundle/rootfs")


def converted(source, *options):
    shutil.rmtree("norm", ignore_errors=True)
    run(*SKOPEO, *options, source, "oci:norm:latest")
    return unpacked("norm")


def compare(what, got, want):
    wrong = [p for p in sorted(set(got) | set(want)) if got.get(p) != want.get(p)]
    print("%s: %d names%s" % (what, len(want), ", %d differ" % len(wrong) if wrong else ""))
    for p in wrong[:5]:
        print("    %s: xw-mkfs %s, umoci %s" % (p, got.get(p), want.get(p)))
    return not wrong


# ---- made-up layers: each a change of the tree before, as a builder's would be ----

class Changes:
    def __init__(self, seed):
        self.rnd = random.Random(seed)
        self.names = {"": "d"}  # path to type; "h": a regular file
        self.layers = []
        self.seed = seed

    def attributes(self, kind):
        r = self.rnd
        more = {"uid": r.choice([0, 0, 1000, 70000]), "gid": r.choice([0, 5, 1000]),
                "mtime": make.EPOCH + r.randint(0, 10**7) + r.choice([0, 0.5, 0.125])}
        if kind in "fd" and r.random() < .3:
            more["pax_headers"] = {"SCHILY.xattr." + n: "v%d" % r.randint(0, 9) for n in r.sample(
                ["user.one", "user.two", "trusted.three", "user.long" + "x" * 40], r.randint(1, 3))}
        more["mode"] = r.choice([0o755, 0o700, 0o1777, 0o2755]) if kind == "d" else r.choice([0o644, 0o600, 0o4755, 0o400, 0])
        return more

    def below(self, path):
        return [n for n in self.names if n.startswith(path + "/")]

    def drop(self, path):
        for n in self.below(path) + [path]:
            self.names.pop(n, None)

    def parent(self):
        return self.rnd.choice([n for n, k in self.names.items() if k == "d"])

    def new_name(self, parent):
        name = self.rnd.choice(["a", "b", "c", "d", "e", "n%d" % self.rnd.randint(0, 99), "long-%s" % ("x" * self.rnd.randint(1, 120))])
        return parent + "/" + name if parent else name

    def put(self, tar, path, kind):
        own = path in self.own
        old = self.names.get(path)
        if own or (old == "d" and kind == "d" and self.rnd.random() < .5):
            return
        if old is not None and (old == "d") != (kind == "d"):
            if any(n in self.own for n in self.below(path)):
                return
            if kind == "d":  # a file under that name: by a whiteout, or replaced at once
                if self.rnd.random() < .5:
                    self.mark(tar, os.path.join(os.path.dirname(path), ".wh." + os.path.basename(path)))
            self.drop(path)
        more = self.attributes(kind)
        types = {"f": tarfile.REGTYPE, "d": tarfile.DIRTYPE, "l": tarfile.SYMTYPE, "c": tarfile.CHRTYPE, "b": tarfile.BLKTYPE,
                 "p": tarfile.FIFOTYPE, "h": tarfile.LNKTYPE}
        data = b""
        if kind == "f":
            data = make.noise((self.seed, path), self.rnd.choice([0, 1, 100, 5000, 70000]))
        elif kind == "l":
            more.update(linkname=self.rnd.choice(["a", "../b", "/c/d", "nowhere"]), mode=0o777)
            more.pop("pax_headers", None)
        elif kind in "cb":
            more.update(devmajor=self.rnd.randint(1, 200), devminor=self.rnd.randint(1, 300))
        elif kind == "h":
            files = [n for n, k in self.names.items() if k in "fh" and n != path]
            if not files:
                return
            target = self.rnd.choice(files)
            # an unpacker may give the link's attributes to the file: they are the file's own
            more = dict(self.linked[target], linkname=target)
        if kind != "d":
            self.linked[path] = {k: v for k, v in more.items() if k != "linkname"}
        tar.add(path, types[kind], data, **more)
        self.names[path] = "f" if kind == "h" else kind
        self.own.add(path)

    def mark(self, tar, path):
        tar.add(path, mode=0o600)

    def ways(self, tar, path):
        """Entries for the directories above, as most builders write them; they keep their attributes."""
        parts = path.split("/")[:-1]
        for i in range(len(parts)):
            way = "/".join(parts[:i + 1])
            if way not in self.own and self.rnd.random() < .7:
                self.own.add(way)
                tar.add(way, tarfile.DIRTYPE, **self.attributes("d"))

    def layer(self, first):
        tar = make.Layer()
        self.own = set()
        if first:
            self.linked = {}
            tar.add("./", tarfile.DIRTYPE, mode=0o755, mtime=make.EPOCH)
            for d in ("a", "b", "c", "a/a", "a/b"):
                self.put(tar, d, "d")
        for _ in range(self.rnd.randint(15, 40)):
            if not first and self.rnd.random() < .3:
                self.remove(tar)
                continue
            path = self.new_name(self.parent())
            self.ways(tar, path)
            self.put(tar, path, self.rnd.choice("fffffddllhhcbp"))
        return tar.end()

    def remove(self, tar):
        lower = [n for n in self.names if n and n not in self.own and not any(b in self.own for b in self.below(n))]
        if not lower:
            return
        path = self.rnd.choice(lower)
        if self.names[path] == "d" and self.rnd.random() < .4:
            self.mark(tar, path + "/.wh..wh..opq")
            for n in self.below(path):
                self.drop(n)
            return
        self.mark(tar, os.path.join(os.path.dirname(path), ".wh." + os.path.basename(path)))
        self.drop(path)
        self.own.add(path)  # what hides and brings one name is told apart by unpackers in different ways

    def all(self):
        return [self.layer(i == 0) for i in range(self.rnd.randint(2, 4))]


def form(number, layers):
    """Write the image; returns its name, and what skopeo calls it, or None where the twin is unpacked."""
    s = make.Store()
    zstd = "zstd" if shutil.which("zstd") else "gzip"
    kind = number % 10
    if kind in (0, 1):
        make.index(s, make.manifest(s, layers, pack=["gzip", ""][kind], **make.named("latest")))
        s.directory("layout")
        return "layout", "oci:layout:latest"
    if kind == 2:
        make.index(s, make.manifest(s, layers, docker=True))
        s.directory("layout")
        return "layout", "oci:layout"
    if kind == 3:
        make.index(s, make.manifest(s, layers, pack=zstd))
        s.archive("archive.tar")
        return "archive.tar", None
    if kind == 4:
        make.index(s, make.manifest(s, layers, pack=([zstd, "", "gzip"] * 2)[:len(layers)], algorithm="sha512"))
        s.directory("layout")
        return "layout", None
    if kind == 5:
        inner = {"schemaVersion": 2, "manifests": [make.manifest(s, layers[:1], arch=make.OTHER, **make.plat(make.OTHER)),
                                                   make.manifest(s, layers, **make.plat(make.ARCH, make.VARIANT))]}
        make.index(s, s.json_blob(inner, make.OCI + "index.v1+json", **make.named("latest")))
        s.directory("layout")
        return "oci:layout:latest", None
    if kind == 6:
        make.index(s, make.manifest(s, layers, **make.named("one")), make.manifest(s, layers[:1], **make.named("two")))
        s.archive("archive.tar")
        return "oci:archive.tar:one", "oci-archive:archive.tar:one"
    s = make.docker_save(layers, ["old", "new", "crane"][kind - 7], ["", "", "gzip"][kind - 7])
    s.archive("archive.tar")
    return "archive.tar", "docker-archive:archive.tar"


def twin(layers):
    shutil.rmtree("twin", ignore_errors=True)
    s = make.Store()
    make.index(s, make.manifest(s, layers, **make.named("latest")))
    s.directory("twin")
    return unpacked("twin")


def random_images(first, last):
    ok = True
    for seed in range(first, last + 1):
        shutil.rmtree("layout", ignore_errors=True)
        layers = Changes(seed).all()
        name, skopeo = form(seed, layers)
        want = converted(skopeo) if skopeo and shutil.which("skopeo") else twin(layers)
        ok &= compare("seed %d, %s, %d layers" % (seed, name, len(layers)), made(name), want)
    return ok


# ---- images of real programs ----

def repack(change):
    shutil.rmtree("bundle", ignore_errors=True)
    run("umoci", "unpack", "--image", "real:latest", "bundle")
    change("bundle/rootfs")
    run("umoci", "repack", "--image", "real:latest", "bundle")


def fill(root):
    run("sh", "-c", "mkdir -p %s/etc && cp -a /etc/passwd /etc/group /etc/profile /etc/hostname %s/etc/" % (root, root))
    for d in ("/etc/pam.d", "/etc/apt", "/etc/init.d", "/usr/lib/udev", "/usr/share/perl5/Debian"):
        if os.path.isdir(d):
            run("sh", "-c", "mkdir -p %s%s && cp -a %s/. %s%s/" % (root, d, d, root, d))
    run("sh", "-c", "mknod %s/null c 1 3; mkfifo %s/fifo; ln %s/etc/passwd %s/linked; setfattr -n user.x -v y %s/etc/passwd" % ((root,) * 5))


def change(root):
    run("sh", "-c", "cd %s && rm -rf usr/share usr/lib && ln -s /etc usr/lib && rm etc/profile && mkdir etc/profile && "
        "echo new >etc/profile/new && chmod 700 etc && chown -h 5:6 fifo && rm -f linked && touch -d @5 etc/hostname" % root)


def again(root):
    run("sh", "-c", "cd %s && rm -r etc/profile && echo back >etc/profile && rm usr/lib && mkdir usr/lib && echo x >usr/lib/x" % root)


def real():
    run("umoci", "init", "--layout", "real")
    run("umoci", "new", "--image", "real:latest")
    for step in (fill, change, again):
        repack(step)
    want = unpacked("real")
    ok = compare("umoci repack", made("real"), want)
    ok &= compare("umoci repack, by name", made("oci:real:latest"), want)
    if not shutil.which("skopeo"):
        return ok
    run(*SKOPEO, "oci:real:latest", "docker-archive:saved.tar:example/real:1")
    ok &= compare("skopeo's docker-archive", made("saved.tar"), converted("docker-archive:saved.tar"))
    run(*SKOPEO, "oci:real:latest", "oci-archive:real.tar:name")
    ok &= compare("skopeo's oci-archive", made("real.tar"), want)
    run(*SKOPEO, "--dest-compress-format", "zstd", "oci:real:latest", "oci:zstd:latest")
    return ok & compare("skopeo's layers of zstd", made("zstd"), want)


def buildah(*command):
    """In a store of its own, without a network, mounts or a registry."""
    here = os.getcwd()
    return run("buildah", "--root", here + "/store", "--runroot", here + "/run", "--storage-driver", "vfs", *command).strip().split("\n")[-1]


def committed(base, change, name):
    """An image with one more layer; change has the root directory of its container."""
    container = buildah("from", base)
    change(buildah("mount", container))
    buildah("umount", container)
    buildah("config", "--env", "A=b", "--entrypoint", '["/etc/profile"]', "--label", "x=y", container)
    buildah("commit", container, name)


def instructions():
    """A build with ADD and COPY, a layer for each instruction; the archive is unpacked by ADD."""
    os.makedirs("context/tree/dir")
    with open("context/tree/dir/file", "w") as f:
        f.write("text\n" * 1000)
    os.symlink("dir/file", "context/tree/link")
    with tarfile.open("context/more.tar.gz", "w:gz") as tar:
        tar.add("context/tree", "added")
    with open("context/Dockerfile", "w") as f:
        f.write("FROM scratch\nADD more.tar.gz /\nCOPY tree /copied\nCOPY --chown=7:8 tree/dir/file /added/dir/file\n"
                "ENV PATH=/bin\nUSER 7\nCMD [\"/copied/link\"]\n")
    buildah("bud", "--layers", "-t", "third", "context")


def compare_below(what, got, want):
    """Its layers do not hold the root directory, whose time is that of the build for xw-mkfs, and 0 for umoci."""
    got["."][3] = want["."][3] = None
    return compare(what, got, want)


def by_buildah():
    committed("scratch", fill, "first")
    committed("first", change, "changed")
    committed("changed", again, "second")
    instructions()
    ok = True
    for name, form in (("first", "oci:first:tag"), ("second", "docker-archive:second.tar:example/second:1"), ("third", "oci-archive:third.tar:tag")):
        buildah("push", name, "oci:%s-layout:latest" % name)
        buildah("push", name, form)
        want = unpacked(name + "-layout")
        file = form.split(":")[1]
        ok &= compare_below("buildah's %s, by its path" % form, made(file), want)
        if form.startswith("docker-archive"):
            ok &= compare_below("  by name", made(form), want)
    return ok & compare_below("  by the name of a layout", made("oci:first-layout:latest"), unpacked("first-layout"))


def main():
    if sys.argv[3] == "real":
        return real()
    if sys.argv[3] == "buildah":
        return by_buildah()
    return random_images(int(sys.argv[4]), int(sys.argv[5]))


sys.exit(not main())
