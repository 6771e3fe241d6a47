#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""oci_make.py DIR: container images made by hand, from the specifications, for tests.

DIR gets l1.tar, l2.tar and l3.tar, the layers of all good images, and for each image a directory NAME (an OCI layout) or an
archive NAME.tar. good.txt has a line for each that can be unpacked: the name to give to a tool, the numbers of its layers, and options.
bad.txt has what must be refused: the name, the exit status, an extended regular expression for the message, and options. Fields are separated by tabs.
Images compressed by zstd are left out where that program is missing. Bytes are the same in each run.
"""
import gzip
import hashlib
import io
import json
import os
import platform
import shutil
import struct
import subprocess
import sys
import tarfile

EPOCH = 1600000000
OCI = "application/vnd.oci.image."
DOCKER = "application/vnd.docker."
MACHINES = {"x86_64": ("amd64", None), "aarch64": ("arm64", None), "armv7l": ("arm", "v7"), "i686": ("386", None)}
ARCH, VARIANT = MACHINES.get(platform.machine(), (platform.machine(), None))
OTHER = "s390x" if ARCH != "s390x" else "ppc64le"


# ---- layers ----

class Layer:
    """A tar archive in memory."""

    def __init__(self):
        self.bytes = io.BytesIO()
        self.tar = tarfile.open(fileobj=self.bytes, mode="w", format=tarfile.PAX_FORMAT)
        self.n = 0

    def add(self, name, kind=tarfile.REGTYPE, data=b"", mode=None, **more):
        t = tarfile.TarInfo(name)
        t.type = kind
        t.mode = mode if mode is not None else 0o755 if kind == tarfile.DIRTYPE else 0o644
        t.mtime = more.pop("mtime", EPOCH + 10 * self.n)
        t.size = len(data)
        self.n += 1
        for key, value in more.items():
            setattr(t, key, value)
        self.tar.addfile(t, io.BytesIO(data))

    def dirs(self, *names):
        for name in names:
            self.add(name, tarfile.DIRTYPE)

    def end(self):
        self.tar.close()
        return self.bytes.getvalue()


def noise(seed, n):
    out = b""
    while len(out) < n:
        seed = hashlib.sha256(b"%r" % (seed,)).digest()
        out += seed
    return out[:n]


def make_layers():
    one = Layer()
    one.dirs("./", "bin", "etc", "etc/conf.d", "usr", "usr/lib", "var", "var/lib", "var/lib/deep", "var/lib/deep/er", "opaque",
             "opaque/sub", "dev", "to-file", "to-link", "mixed", "home")
    one.add("bin/tool", data=noise(1, 300000), mode=0o4755)
    one.add("bin/also", tarfile.LNKTYPE, linkname="bin/tool", mode=0o4755)
    one.add("bin/sh", tarfile.SYMTYPE, linkname="tool", mode=0o777)
    one.add("etc/passwd", data=b"root:x:0:0::/:/bin/sh\n", uid=0, gid=42, mode=0o640)
    one.add("etc/gone", data=b"gone\n")
    one.add("etc/conf.d/a", data=b"a\n", uid=1000, gid=1000)
    one.add("usr/lib/cap", data=noise(2, 5000), mode=0o755, pax_headers={
        "SCHILY.xattr.security.capability": b"\1\0\0\2\0\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0".decode(),
        "SCHILY.xattr.user.note": "first"})
    one.add("var/lib/deep/er/file", data=b"deep\n", mtime=EPOCH + 0.25)
    one.add("opaque/below", data=b"below\n")
    one.add("opaque/sub/below", data=b"below, too\n")
    one.add("dev/null", tarfile.CHRTYPE, devmajor=1, devminor=3, mode=0o666)
    one.add("dev/loop0", tarfile.BLKTYPE, devmajor=7, devminor=0, mode=0o660, gid=6)
    one.add("dev/fifo", tarfile.FIFOTYPE)
    one.add("to-file/x", data=b"x\n")
    one.add("to-link/y", data=b"y\n")
    one.add("file-to-dir", data=b"file\n")
    one.add("link-to-dir", tarfile.SYMTYPE, linkname="/usr", mode=0o777)
    one.add("mixed/keep", data=b"keep\n")
    one.add("mixed/hide", data=b"hide\n")
    one.add("mixed/same", data=b"lower\n")
    one.add("home/" + "long-" * 30, data=noise(3, 4097))

    two = Layer()
    two.dirs("etc", "opaque")
    two.add("etc/.wh.gone", mode=0o600)
    two.add("etc/linked-across", tarfile.LNKTYPE, linkname="bin/tool", mode=0o4755)
    two.add("etc/passwd", data=b"root:x:0:0::/:/bin/sh\nuser:x:1000:1000::/home:/bin/sh\n", mode=0o644)
    two.add("opaque/own", data=b"own\n")
    two.add("opaque/.wh..wh..opq", mode=0o600)
    two.add("to-file", data=b"now a file\n")
    two.add("to-link", tarfile.SYMTYPE, linkname="etc", mode=0o777)
    two.dirs("file-to-dir")
    two.add("file-to-dir/inside", data=b"inside\n")
    two.add("mixed/.wh.hide", mode=0o600)
    two.add("mixed/same", data=b"upper\n")
    two.add("never/was/made", data=b"parents without an entry\n")
    two.add("home/zeros", data=bytes(1 << 20))

    three = Layer()
    three.add("var/lib/deep/.wh.er", mode=0o600)
    three.add("usr/lib/cap", data=b"another\n", mode=0o700, pax_headers={"SCHILY.xattr.user.note": "second"})
    three.dirs("etc/conf.d")
    three.add("etc/conf.d/b", tarfile.LNKTYPE, linkname="etc/conf.d/a")
    three.add("etc/gone", data=b"back\n")
    return [one.end(), two.end(), three.end()]


def gz(data, level=6):
    return gzip.compress(data, level, mtime=0)


def zstd(data):
    return subprocess.run(["zstd", "-q", "-c"], input=data, stdout=subprocess.PIPE, check=True).stdout


def members(data):
    return b"".join(gz(data[i:i + 65536]) for i in range(0, len(data), 65536)) + gz(b"")


PACK = {"": lambda data: data, "gzip": gz, "zstd": zstd, "members": members}


# ---- images ----

class Store:
    """The files of an image: a dictionary, written as a directory or an archive."""

    def __init__(self):
        self.files = {}
        self.links = {}

    def json(self, name, value):
        self.files[name] = json.dumps(value, sort_keys=True).encode()

    def blob(self, data, media, algorithm="sha256", **more):
        digest = getattr(hashlib, algorithm)(data).hexdigest()
        self.files["blobs/%s/%s" % (algorithm, digest)] = data
        return dict(mediaType=media, digest="%s:%s" % (algorithm, digest), size=len(data), **more)

    def path(self, desc):
        return "blobs/" + desc["digest"].replace(":", "/")

    def json_blob(self, value, media, algorithm="sha256", **more):
        return self.blob(json.dumps(value, sort_keys=True).encode(), media, algorithm, **more)

    def directory(self, path):
        for name, data in self.files.items():
            full = os.path.join(path, name)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "wb") as f:
                f.write(data)

    def archive(self, path, names=None, prefix=""):
        with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as tar:
            for name in names or list(self.files) + list(self.links):
                t = tarfile.TarInfo(prefix + name)
                t.mtime = EPOCH
                if name in self.links:
                    t.type, t.linkname = tarfile.SYMTYPE, self.links[name]
                    tar.addfile(t)
                else:
                    t.size = len(self.files[name])
                    tar.addfile(t, io.BytesIO(self.files[name]))


def config(layers, arch=ARCH, variant=VARIANT):
    c = {"os": "linux", "architecture": arch, "config": {"Env": ["PATH=/bin"], "Entrypoint": ["/bin/tool"], "User": "1000",
                                                        "Labels": {"of": "the test"}},
         "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(x).hexdigest() for x in layers]}}
    if variant:
        c["variant"] = variant
    return c


def manifest(s, layers, pack="gzip", docker=False, algorithm="sha256", edit=None, arch=ARCH, variant=VARIANT, conf=None, more=b"", **about):
    """The blobs of one image; returns the descriptor of its manifest. edit(manifest, configuration) changes both before. more: bytes
    behind each compressed layer."""
    packs = pack if isinstance(pack, list) else [pack] * len(layers)
    descs = []
    for data, p in zip(layers, packs):
        packed = PACK[p](data) + more
        p = "gzip" if p == "members" else p
        media = DOCKER + "image.rootfs.diff.tar" + ("." + p if p else "") if docker else OCI + "layer.v1.tar" + ("+" + p if p else "")
        descs.append(s.blob(packed, media, algorithm))
    c = conf or config(layers, arch, variant)
    m = {"schemaVersion": 2, "layers": descs}
    if docker:
        m["mediaType"] = DOCKER + "distribution.manifest.v2+json"
    if edit:
        edit(m, c)
    m.setdefault("config", s.json_blob(c, DOCKER + "container.image.v1+json" if docker else OCI + "config.v1+json", algorithm))
    return s.json_blob(m, DOCKER + "distribution.manifest.v2+json" if docker else OCI + "manifest.v1+json", algorithm, **about)


def index(s, *manifests):
    s.json("oci-layout", {"imageLayoutVersion": "1.0.0"})
    s.json("index.json", {"schemaVersion": 2, "manifests": list(manifests)})
    return s


def named(name):
    return {"annotations": {"org.opencontainers.image.ref.name": name}}


def plat(arch, variant=None, os_name="linux"):
    p = {"os": os_name, "architecture": arch}
    if variant:
        p["variant"] = variant
    return {"platform": p}


def docker_save(layers, form, pack=""):
    """old: ID/layer.tar, of which equal ones are links; new: blobs; crane: names as go-containerregistry has them."""
    s = Store()
    c = json.dumps(config(layers)).encode()
    digest = hashlib.sha256(c).hexdigest()
    names = []
    for i, data in enumerate(layers):
        packed = PACK[pack](data)
        if form == "old":
            name = "%s/layer.tar" % hashlib.sha256(b"id %d" % i).hexdigest()
            same = [n for n in names if s.files.get(n) == packed]
            if same:
                s.links[name] = "../" + same[0]
            else:
                s.files[name] = packed
        elif form == "new":
            name = s.path(s.blob(packed, ""))
        else:
            name = hashlib.sha256(packed).hexdigest() + ".tar.gz"
            s.files[name] = packed
        names.append(name)
    where = {"old": digest + ".json", "new": "blobs/sha256/" + digest, "crane": "sha256:" + digest}[form]
    s.files[where] = c
    s.json("manifest.json", [{"Config": where, "RepoTags": ["example/app:1.0"], "Layers": names}])
    return s


class Maker:
    def __init__(self, out):
        self.out = out
        self.layers = make_layers()
        self.good, self.bad = [], []
        for i, data in enumerate(self.layers):
            with open(os.path.join(out, "l%d.tar" % (i + 1)), "wb") as f:
                f.write(data)

    def ok(self, name, layers="1 2 3", options=""):
        self.good.append("%s\t%s\t%s" % (name, layers, options))

    def no(self, name, message, options="", status=1):
        self.bad.append("%s\t%d\t%s\t%s" % (name, status, message, options))

    def put(self, s, name):
        s.directory(os.path.join(self.out, name))

    def one(self, name, **how):
        """A layout with one image of all layers."""
        s = Store()
        index(s, manifest(s, how.pop("layers", self.layers), **how))
        self.put(s, name)
        return s

    def refused(self, name, message, change=None, options="", **how):
        s = Store()
        desc = manifest(s, self.layers, **how)
        index(s, desc)
        if change:
            change(s, desc)
        self.put(s, name)
        self.no(name, message, options)

    # ---- good ones ----

    def compressions(self):
        for pack in ["gzip", ""] + (["zstd"] if shutil.which("zstd") else []):
            self.one("oci-" + (pack or "plain"), pack=pack)
            self.ok("oci-" + (pack or "plain"))
        if shutil.which("zstd"):
            self.one("mixed", pack=["zstd", "", "gzip"])
            self.ok("mixed")
            self.one("docker-zstd", pack="zstd", docker=True)
            self.ok("docker-zstd")
        self.one("docker-types", docker=True)
        self.ok("docker-types")
        self.one("sha512", algorithm="sha512")
        self.ok("sha512")
        # gzip of many members, as lazily pulled layers are; zstd with a skippable frame behind it
        self.one("members", pack="members")
        self.ok("members")
        if shutil.which("zstd"):
            self.one("chunked", pack="zstd", more=b"\x50\x2a\x4d\x18\x04\0\0\0toc:")
            self.ok("chunked")
        self.one("one-layer", layers=self.layers[:1])
        self.ok("one-layer", "1")
        self.one("no-layers", layers=[])

    def platforms(self):
        s = Store()
        mine = manifest(s, self.layers, **plat(ARCH, VARIANT))
        index(s, manifest(s, self.layers[:1], arch=OTHER, **plat(OTHER)), mine, manifest(s, self.layers[:2], **plat(ARCH, None, "windows")))
        self.put(s, "platforms")
        self.ok("platforms")
        self.ok("platforms", "1", "--platform linux/" + OTHER)
        self.no("platforms", "has no image for linux/riscv9; --platform chooses another one: .*linux/" + OTHER, "--platform linux/riscv9")
        self.no("platforms", 'is not OS/ARCH or OS/ARCH/VARIANT', "--platform amd64", 2)
        s = Store()
        inner = {"schemaVersion": 2, "mediaType": DOCKER + "distribution.manifest.list.v2+json",
                 "manifests": [manifest(s, self.layers[:1], docker=True, arch=OTHER, **plat(OTHER)),
                               manifest(s, self.layers[:2], docker=True, arch="arm", variant="v6", **plat("arm", "v6")),
                               manifest(s, self.layers, docker=True, **plat(ARCH, VARIANT)),
                               dict(manifest(s, [], **plat("unknown", None, "unknown")), annotations={
                                   "vnd.docker.reference.type": "attestation-manifest"})]}
        middle = {"schemaVersion": 2, "manifests": [s.json_blob(inner, inner["mediaType"])]}
        index(s, s.json_blob(middle, OCI + "index.v1+json", **named("latest")))
        self.put(s, "nested")
        self.ok("nested")
        self.ok("oci:nested:latest")
        self.ok("nested", "1 2", "--platform linux/arm/v7")
        self.no("nested", "has no image for linux/arm/v5", "--platform linux/arm/v5")
        self.one("other-machine", arch=OTHER, variant=None)
        self.ok("other-machine", "1 2 3", "--platform linux/" + OTHER)
        self.no("other-machine", "is an image for linux/%s, not for linux/arm" % OTHER, "--platform linux/arm")

    def references(self):
        s = Store()
        one = manifest(s, self.layers[:1], **named("one"))
        two = manifest(s, self.layers[:2], **named("registry:5000/two:2.0"))
        index(s, one, two, manifest(s, self.layers, annotations={"io.containerd.image.name": "docker.io/library/three:3"}))
        self.put(s, "names")
        self.ok("oci:names:one", "1")
        self.ok("oci:names:registry:5000/two:2.0", "1 2")
        self.ok("oci:names:docker.io/library/three:3", "1 2 3")
        self.ok("oci:names:" + one["digest"], "1")
        self.no("names", "holds several images; oci:PATH:REF chooses one of them: one, registry:5000/two:2.0, ")
        self.no("oci:names:four", "has no image 'four'; there is one, ")
        shutil.copytree(os.path.join(self.out, "names"), os.path.join(self.out, "a:b"))
        self.ok("oci:a:b:one", "1")

    def archives(self):
        s = self.one("archived")
        s.archive(os.path.join(self.out, "archive.tar"))
        s.archive(os.path.join(self.out, "dotted.tar"), prefix="./")
        s.archive(os.path.join(self.out, "last.tar"), [n for n in sorted(s.files) if n[0] == "b"] + ["index.json", "oci-layout"])
        for name in ("archive.tar", "dotted.tar", "last.tar", "oci:archive.tar", "oci-archive:archive.tar"):
            self.ok(name)
        with open(os.path.join(self.out, "archive.tar"), "rb") as f:
            data = f.read()
        for suffix, pack in [("gz", "gzip")] + ([("zst", "zstd")] if shutil.which("zstd") else []):
            with open(os.path.join(self.out, "archive.tar." + suffix), "wb") as f:
                f.write(PACK[pack](data))
            self.ok("archive.tar." + suffix)
        for form, pack in (("old", ""), ("new", ""), ("crane", "gzip")):
            s = docker_save(self.layers, form, pack)
            s.archive(os.path.join(self.out, "save-%s.tar" % form))
            self.ok("save-%s.tar" % form)
            self.ok("docker-archive:save-%s.tar" % form)
            self.ok("docker-archive:save-%s.tar:example/app:1.0" % form)
        self.put(s, "save-dir")
        self.ok("docker-archive:save-dir")
        self.no("docker-archive:save-old.tar:example/app:2.0", "has no image 'example/app:2.0'; there is example/app:1.0")
        # equal layers, of which the second is a link
        docker_save(self.layers[:1] * 2 + self.layers[1:], "old").archive(os.path.join(self.out, "save-links.tar"))
        self.ok("save-links.tar", "1 1 2 3")
        both = docker_save(self.layers, "new")
        index(both, manifest(both, self.layers, pack=""))
        both.archive(os.path.join(self.out, "both.tar"))
        self.ok("both.tar")
        self.ok("docker-archive:both.tar")
        two = docker_save(self.layers[:1], "new")
        more = docker_save(self.layers, "new")
        lists = [json.loads(x.files["manifest.json"])[0] for x in (two, more)]
        lists[0]["RepoTags"] = ["docker.io/library/short:latest"]
        two.files.update(more.files)
        two.json("manifest.json", lists)
        two.archive(os.path.join(self.out, "two.tar"))
        self.ok("docker-archive:two.tar:short", "1")
        self.ok("docker-archive:two.tar:example/app:1.0")
        self.ok("docker-archive:two.tar:@1")
        self.no("two.tar", "holds several images; docker-archive:FILE:TAG chooses one of them: docker.io/library/short:latest, example/app:1.0")

    def aufs(self):
        """What aufs keeps beside its files: hard links of the layer lead there."""
        upper = Layer()
        upper.dirs(".wh..wh.plnk", ".wh..wh.orph", ".wh..wh.orph/below")
        upper.add(".wh..wh.plnk/12.34", data=b"linked\n")
        upper.add(".wh..wh.orph/below/file", data=b"orphan\n")
        upper.add(".wh..wh.aufs", mode=0o444)
        upper.add("linked", tarfile.LNKTYPE, linkname=".wh..wh.plnk/12.34")
        self.one("aufs", layers=[self.layers[0], upper.end()])

    def empty(self):
        """No bytes, or none once they are decompressed, are an archive without members: containerd and umoci take them."""
        for pack in ("", "gzip"):
            self.one("empty-" + (pack or "plain"), layers=[self.layers[0], b""], pack=pack)

    def unmarked(self):
        """Layers as umoci writes them: without the two blocks of zeros at the end."""
        layer = Layer()
        layer.add("file", data=b"x" * 100)
        self.one("unmarked", layers=[self.layers[0], layer.end()[:1024]])

    def attributes(self):
        """An upper layer's directory: its extended attributes are all that it has."""
        lower, upper = Layer(), Layer()
        lower.add("dir", tarfile.DIRTYPE, pax_headers={"SCHILY.xattr.user.one": "1"})
        lower.add("dir/file", data=b"lower\n")
        upper.add("dir", tarfile.DIRTYPE, pax_headers={"SCHILY.xattr.user.two": "2"})
        self.one("attributes", layers=[lower.end(), upper.end()])

    def frames(self):
        """Skippable frames of zstd at the beginning, between and behind others, as zstd:chunked has them behind."""
        if not shutil.which("zstd"):
            return

        def skippable(number, data):
            return struct.pack("<II", 0x184d2a50 + number, len(data)) + data

        def pack(data):
            return skippable(3, b"first") + zstd(data[:70000]) + skippable(0, b"") + zstd(data[70000:]) + skippable(15, b"GnUlInUx" * 8)
        s = Store()
        layers = [s.blob(pack(data), OCI + "layer.v1.tar+zstd") for data in self.layers]
        self.put(index(s, manifest(s, self.layers, pack="zstd", edit=lambda m, c: m.update(layers=layers))), "frames")
        self.ok("frames")

    def referrers(self):
        """What is stored beside an image and about it: artifacts, signatures, attestations."""
        def artifact(s, subject, kind):
            m = {"schemaVersion": 2, "mediaType": OCI + "manifest.v1+json", "artifactType": kind, "subject": subject,
                 "config": s.blob(b"{}", OCI + "empty.v1+json"), "layers": [s.blob(b'{"sbom": 1}', kind)]}
            return s.json_blob(m, OCI + "manifest.v1+json")

        def both(name, about, options=""):
            s = Store()
            m = manifest(s, self.layers)
            other = artifact(s, m, "application/spdx+json")
            self.put(index(s, dict(m, **named("app")), about(s, m, other)), name)
            self.ok(name)
            self.ok("oci:%s:app" % name)
        both("artifact-beside", lambda s, m, a: dict(a, artifactType="application/spdx+json"))
        both("referrers-tag", lambda s, m, a: s.json_blob({"schemaVersion": 2, "manifests": [dict(a, artifactType="application/spdx+json")]},
                                                          OCI + "index.v1+json", **named(m["digest"].replace(":", "-"))))
        both("signature", lambda s, m, a: dict(a, **named(m["digest"].replace(":", "-") + ".sig")))
        # only what is named after another manifest is about it
        s = Store()
        self.put(index(s, manifest(s, self.layers, **named("sha256-%064d" % 5)), manifest(s, self.layers[:1], **named("one"))), "looks-like-tag")
        self.no("looks-like-tag", "holds several images; oci:PATH:REF chooses one of them: sha256-0*5, one")
        # an image with a subject, as the referrers of an API have it
        s = Store()
        self.put(index(s, dict(manifest(s, self.layers), artifactType=OCI + "config.v1+json")), "image-type")
        self.ok("image-type")
        # an image for another machine with its attestation, which has no annotation, is the only one
        s = Store()
        m = manifest(s, self.layers, arch=OTHER, variant=None, **plat(OTHER))
        a = dict(artifact(s, m, "application/vnd.in-toto+json"), **plat("unknown", None, "unknown"))
        self.put(index(s, s.json_blob({"schemaVersion": 2, "manifests": [a, m]}, OCI + "index.v1+json")), "attested")
        self.ok("attested", "1 2 3", "--platform linux/" + OTHER)
        self.no("attested", "has no image for linux/riscv9; --platform chooses another one: linux/%s$" % OTHER, "--platform linux/riscv9")

    def old(self):
        """docker save before 1.10: each layer names its parent, and nothing lists them."""
        s = Store()
        for i, data in enumerate(self.layers):
            own = "%064d" % i
            s.json(own + "/json", dict({"id": own}, **({"parent": "%064d" % (i - 1)} if i else {})))
            s.files[own + "/layer.tar"] = data
        s.json("repositories", {"example/app": {"1.0": own}})
        s.archive(os.path.join(self.out, "save-oldest.tar"))
        self.put(s, "save-oldest")
        for name in ("save-oldest", "save-oldest.tar"):
            self.no("docker-archive:" + name, "docker save before 1.10 did not list the layers; load it into a container engine and save it again")

    # ---- bad ones ----

    def damaged(self):
        def change_blob(which, at):
            def change(s, desc):
                m = json.loads(s.files[s.path(desc)])
                d = desc if which == "manifest" else m["config"] if which == "config" else m["layers"][which]
                data = bytearray(s.files[s.path(d)])
                data[at] ^= 1
                s.files[s.path(d)] = bytes(data)
            return change

        def drop(which):
            def change(s, desc):
                m = json.loads(s.files[s.path(desc)])
                del s.files[s.path(desc if which == "manifest" else m["config"] if which == "config" else m["layers"][which])]
            return change

        def truncate(s, desc):
            d = json.loads(s.files[s.path(desc)])["layers"][2]
            s.files[s.path(d)] = s.files[s.path(d)][:-1]

        # the time in a gzip header: everything is right but the digest
        self.refused("digest-gzip", "layer 2 of 3 .*damaged: its digest is sha256:[0-9a-f]*, not sha256:", change_blob(1, 4))
        self.refused("digest-plain", "layer 1 of 3 .*damaged: its digest is", change_blob(0, 20000), pack="")
        # damage that a decompressor or the tar reader meets first: the digest is named nevertheless
        wrong = "layer %d of 3 .sha256:[0-9a-f]*.: damaged: its digest is sha256:[0-9a-f]*, not sha256:"
        packs = ["", "gzip", "zstd"] if shutil.which("zstd") else ["", "gzip"]
        for pack in packs:
            for at in (0, 1, 2, 150, 600) if pack == "" else (0, 3, 9, 20, 300, -1, -5):
                self.refused("damaged-%s-%d" % (pack or "plain", at), wrong % 1, change_blob(0, at), pack=pack)

            def shorter(m, c):
                m["layers"][0]["size"] -= 700

            def cut(s, desc):
                path = s.path(json.loads(s.files[s.path(desc)])["layers"][0])
                s.files[path] = s.files[path][:-700]
            self.refused("cut-" + (pack or "plain"), wrong % 1, cut, edit=shorter, pack=pack)
            # what the manifest describes is damaged itself
            bad = PACK[pack](self.layers[0])[:-40000]
            s = Store()
            index(s, manifest(s, [bad], pack=""))
            self.put(s, "made-short-" + (pack or "plain"))
            self.no("made-short-" + (pack or "plain"), "layer 1 of 1 .sha256:[0-9a-f]*.*(ends|[Tt]runcated)")

        def wrong_size(m, c):
            m["layers"][1]["size"] += 1
        self.refused("wrong-size", "layer 2 of 3 .sha256:[0-9a-f]*.: damaged: its size is [0-9]+, not [0-9]+ bytes", edit=wrong_size)
        # what follows the archive belongs to the blob
        self.refused("digest-end", "layer 3 of 3 .*damaged: its digest is", change_blob(2, -1), pack="")
        self.refused("digest-far", "layer 2 of 3 .*damaged: its digest is", change_blob(1, -1), more=bytes(17 << 20))
        self.refused("digest-manifest", "blobs/sha256/[0-9a-f]*: damaged: its digest is", change_blob("manifest", 3))
        self.refused("digest-config", "blobs/sha256/[0-9a-f]*: damaged: its digest is", change_blob("config", 3))
        self.refused("size", "layer 3 of 3 .*damaged: its size is [0-9]+, not [0-9]+ bytes", truncate)
        self.refused("missing-layer", "layer 2 of 3 .*: is missing", drop(1))
        self.refused("missing-config", "the configuration is missing", drop("config"))
        self.refused("missing-manifest", "the manifest is missing", drop("manifest"))

        def wrong_diff(m, c):
            c["rootfs"]["diff_ids"][1] = c["rootfs"]["diff_ids"][0]
        self.refused("diff-id", "layer 2 of 3 .*damaged: its digest is", edit=wrong_diff)
        self.refused("diff-id-plain", "layer 2 of 3 .*damaged: its digest is", edit=wrong_diff, pack="")
        self.refused("diff-ids", "has 2 layers, but the manifest has 3", edit=lambda m, c: c["rootfs"]["diff_ids"].pop())
        for at in (0, 150, 3000):
            save = docker_save(self.layers, "old")
            name = sorted(n for n in save.files if n.endswith("layer.tar"))[0]
            data = bytearray(save.files[name])
            data[at] ^= 1
            save.files[name] = bytes(data)
            save.archive(os.path.join(self.out, "save-damaged-%d.tar" % at))
            self.no("save-damaged-%d.tar" % at, "layer [123] of 3 .*: damaged: its digest is")
        save = docker_save(self.layers, "old")
        del save.files[[n for n in save.files if n.endswith("layer.tar")][1]]
        save.archive(os.path.join(self.out, "save-missing.tar"))
        self.no("save-missing.tar", "layer 2 of 3 .*layer.tar.: is missing")
        save = docker_save(self.layers, "new")
        save.json("manifest.json", [dict(json.loads(save.files["manifest.json"])[0], Layers=["../../etc/passwd"] * 3)])
        self.put(save, "save-outside")
        self.no("docker-archive:save-outside", 'is not inside the image')
        with open(os.path.join(self.out, "save-new.tar"), "rb") as f:
            data = f.read()
        with open(os.path.join(self.out, "save-short.tar"), "wb") as f:
            f.write(data[:150000])
        self.no("docker-archive:save-short.tar", "save-short.tar: ends inside blobs/")

    def strange(self):
        def foreign(urls):
            def edit(m, c):
                m["layers"][0]["mediaType"] = OCI + "layer.nondistributable.v1.tar+gzip"
                m["layers"][0].update({"urls": urls} if urls else {})
            return edit

        def drop_first(s, desc):
            del s.files[s.path(json.loads(s.files[s.path(desc)])["layers"][0])]
        self.refused("foreign", "layer 1 of 3 .*: is missing; foreign layer, to be fetched from https://example.org/layer", drop_first,
                     edit=foreign(["https://example.org/layer"]))
        self.refused("foreign-nowhere", "layer 1 of 3 .*: is missing; foreign layer, to be fetched from elsewhere", drop_first,
                     edit=foreign(None))
        self.one("foreign-here", edit=foreign(["https://example.org/layer"]))
        self.ok("foreign-here")

        def media(text):
            return lambda m, c: m["layers"][1].update(mediaType=text)
        self.refused("encrypted", "layer 2 of 3 .*: is encrypted; decrypt the image first", edit=media(OCI + "layer.v1.tar+gzip+encrypted"))
        self.refused("artifact", "layer 2 of 3 .*: unsupported media type application/vnd.cncf.helm.chart.content.v1.tar.gzip for a layer",
                     edit=media("application/vnd.cncf.helm.chart.content.v1.tar+gzip"))
        s = Store()
        m = manifest(s, [noise(9, 5000)], pack="")
        self.put(index(s, m), "no-tar")
        self.no("no-tar", "layer 1 of 1 .*: is not a tar archive, compressed or not")
        for name, text, message in [
                ("json-broken", b'{"manifests": [', "index.json: line 1: "),
                ("json-twice", b'{"manifests": [], "manifests": []}', "index.json: line 1: duplicate object key"),
                ("json-nothing", b"{}", "index.json: is neither an index nor a manifest"),
                ("json-empty", b'{"manifests": []}', "json-empty: holds no image"),
                ("json-both", b'{"manifests": [], "layers": []}', "index.json: has both manifests and layers"),
                ("json-digest", b'{"manifests": [{"digest": "sha256:../../../etc/passwd", "size": 1}]}', "is not a digest by sha256 or sha512"),
                ("json-size", b'{"manifests": [{"digest": "sha256:%s", "size": -1}]}' % (b"0" * 64), "the size of sha256:0* is missing or invalid"),
                ("json-v1", b'{"schemaVersion": 1, "fsLayers": []}', "is a manifest of schema version 1, which is no longer used")]:
            s = Store()
            index(s)
            s.files["index.json"] = text
            self.put(s, name)
            self.no(name, message)
        s = Store()
        index(s, manifest(s, self.layers))
        s.json("oci-layout", {"imageLayoutVersion": "2.0.0"})
        self.put(s, "version")
        self.no("version", "oci-layout: version 2.0.0 is not supported")
        s = Store()
        d = manifest(s, self.layers)
        for _ in range(12):
            d = s.json_blob({"schemaVersion": 2, "manifests": [d]}, OCI + "index.v1+json")
        self.put(index(s, d), "deep")
        self.no("deep", "indexes are nested more than 8 levels deep")
        self.no("oci:nowhere", "nowhere: cannot open")
        self.no("oci:l1.tar", "l1.tar: not a container image: neither index.json nor manifest.json exists")
        self.no("docker-archive:oci-gzip", "oci-gzip: the list of images is missing: manifest.json")


def main():
    os.makedirs(sys.argv[1], exist_ok=True)
    m = Maker(sys.argv[1])
    for make in (m.compressions, m.platforms, m.references, m.archives, m.aufs, m.empty, m.unmarked, m.attributes, m.frames, m.referrers,
                 m.old, m.damaged, m.strange):
        make()
    for name, lines in (("good.txt", m.good), ("bad.txt", m.bad)):
        with open(os.path.join(sys.argv[1], name), "w") as f:
            f.write("".join(x + "\n" for x in lines))


if __name__ == "__main__":
    main()
