# SPDX-License-Identifier: MIT
"""Rows of tests/bench/growth: what an image is made of, and what is read from it."""
import hashlib
import json
import os
import tarfile

from growth_input import MAKERS, READERS, Tar, case, cpio, deep, files, image, reader, run, source_of, verbs

# Trees -----------------------------------------------------------------------------------------

@case("names in a directory", *MAKERS)
def _(n, tool):
    files(n)
    return source_of(tool)


@case("names in a directory", *READERS)
def _(n, tool):
    files(n)
    image()
    return reader(tool)


@case("names of a host's directory", *MAKERS)
def _(n, tool):
    os.mkdir("in")
    for i in range(n):
        os.close(os.open("in/f%d" % i, os.O_CREAT | os.O_WRONLY))
    return source_of(tool, "in")


@case("directories", "xw-mkfs", "xw-fsck -fn", "xw-export -x")
def _(n, tool):
    with Tar() as t:
        for i in range(n):
            t.add("d%d" % i, tarfile.DIRTYPE)
    if tool in MAKERS:
        return source_of(tool)
    image()
    return reader(tool)


@case("names removed", "")
def _(n, _tool):
    files(n)
    image()
    with open("verbs", "w") as f:
        f.writelines("rm f%d\n" % i for i in range(n))
    return ["xw-debugfs", "-w", "-f", "verbs", "o.img"]


@case("depth", *MAKERS, first=500, last=16384)
def _(n, tool):
    deep(n)
    return source_of(tool)


@case("depth", "xw-export -x", "xw-fsck -fn", first=500, last=16384)
def _(n, tool):
    deep(n)
    image()
    return reader(tool)


@case("depth, files far apart", "xw-export -x", first=500, last=16384)
def _(n, tool):
    with Tar() as t:
        t.add("a", data=b"1")
        for i in range(n):
            t.add("/".join(["d"] * (n if i % 2 else 1)) + "/f%d" % i if i < 256 else "g/f%d" % i, data=b"1")
    image()
    return reader(tool)


@case("depth of a host's directory", *MAKERS, first=500, last=16384)
def _(n, tool):
    deep(n)
    image()
    run("xw-export", "-q", "-x", "in", "o.img")
    return source_of(tool, "in")


@case("depth of a directory by its number", "ncheck", "pwd", first=500, last=16384)
def _(n, verb):
    deep(n)
    image()
    with open("verbs", "w") as f:
        f.write("ncheck %d\n" % (n + 11) if verb == "ncheck" else "cd <%d>\npwd\n" % (n + 11))
    return ["xw-debugfs", "-f", "verbs", "o.img"]


@case("links of files, each with 100", *MAKERS, "xw-export", "xw-export -x", "xw-fsck -fn")
def _(n, tool):
    with Tar() as t:
        for i in range(n):
            t.add("d%d/f%d" % (i // 100, i), *((tarfile.LNKTYPE, "d%d/f%d" % (i // 100, i // 100 * 100)) if i % 100 else ()))
    if tool in MAKERS:
        return source_of(tool)
    image()
    return reader(tool)


@case("links of a host's files", *MAKERS)
def _(n, tool):
    os.mkdir("in")
    for i in range(n):
        if i % 2:
            os.link("in/f%d" % (i - 1), "in/f%d" % i)
        else:
            os.close(os.open("in/f%d" % i, os.O_CREAT | os.O_WRONLY))
    return source_of(tool, "in")


@case("cpio: files whose other links are missing", *MAKERS)
def _(n, tool):
    cpio("in.cpio", (("f%d" % i, i + 1, 7) for i in range(n)))
    return source_of(tool, "in.cpio")


@case("cpio: links", *MAKERS)
def _(n, tool):
    cpio("in.cpio", (("f%d" % i, i // 3 + 1, 3) for i in range(n)))
    return source_of(tool, "in.cpio")


@case("layers", "", first=32, last=2048)
def _(n, _tool):
    names = []
    for i in range(n):
        names.append("l%d.tar" % i)
        with Tar(names[-1]) as t:
            t.add("d/f%d" % i)
            if i:
                t.add("d/.wh.f%d" % (i - 1))
    run("xw-mkfs", "-q", "--replace", "o.img", "256M")
    return ["xw-import", "-q", "--whiteouts", "apply", "o.img", *names]


@case("whiteouts", "")
def _(n, _tool):
    files(n, "a.tar")
    files(n, "b.tar", ".wh.f%d")
    run("xw-mkfs", "-q", "--replace", "-N", "1200000", "o.img", "4G")
    return ["xw-import", "-q", "--whiteouts", "apply", "o.img", "a.tar", "b.tar"]


@case("opaque whiteouts of deep directories", "", first=125, last=2048)
def _(n, _tool):
    deep(n, "a.tar")
    with Tar("b.tar") as t:
        t.add("/".join(["d"] * n) + "/.wh..wh..opq")
        for i in range(n):
            t.add("e%d/.wh..wh..opq" % i)
    run("xw-mkfs", "-q", "--replace", "-N", "400000", "o.img", "4G")
    return ["xw-import", "-q", "--whiteouts", "apply", "o.img", "a.tar", "b.tar"]


@case("names given twice", *MAKERS)
def _(n, tool):
    with Tar() as t:
        for _ in range(2):
            for i in range(n):
                t.add("f%d" % i, data=b"1")
    return source_of(tool)


# Attributes and contents -----------------------------------------------------------------------

@case("attributes, each file with its own", *MAKERS, "xw-export", "xw-fsck -fn")
def _(n, tool):
    with Tar() as t:
        for i in range(n):
            t.add("f%d" % i, pax={"SCHILY.xattr.user.a": "v" * 200 + str(i), "SCHILY.xattr.user.b%d" % i: "w"})
    if tool in MAKERS:
        return source_of(tool)
    image()
    return reader(tool)


@case("attributes of one file", "xw-mkfs", "xw-export", "xw-fsck -fn", first=250, last=250)
def _(n, tool):
    with Tar() as t:
        t.add("f", pax={"SCHILY.xattr.user.%d" % i: "" for i in range(n)})
    if tool in MAKERS:
        return source_of(tool, options=("-b", "65536"))
    image(options=("-b", "65536"))
    return reader(tool)


@case("extents of a host's file", *MAKERS, last=32768)
def _(n, tool):
    os.mkdir("in")
    with open("in/f", "wb") as f:
        for i in range(n):
            f.seek(i * 8192)
            f.write(b"1")
    return source_of(tool, "in")


def sparse(n, form, path="in.tar"):
    """A file with n pieces of 512 bytes, one in 4 KiB, in one of the forms of GNU tar."""
    runs, data = [(i * 4096, 512) for i in range(n)], b"1" * 512 * n
    with Tar(path) as t:
        if form == "GNU":
            entry = lambda r: b"%011o\0%011o\0" % r  # noqa: E731
            i = tarfile.TarInfo("f")
            i.type, i.size = b"S", len(data)
            head = bytearray(i.tobuf(tarfile.GNU_FORMAT))
            head[386:386 + 24 * 4] = b"".join(map(entry, runs[:4])).ljust(96, b"\0")
            head[482:495] = (b"\1" if n > 4 else b"\0") + b"%011o\0" % (n * 4096)
            head[148:156] = b"%06o\0 " % (sum(head[:148]) + sum(head[156:]) + 8 * 32)
            t.f.write(head)
            for i in range(4, n, 21):
                t.f.write(b"".join(map(entry, runs[i:i + 21])).ljust(504, b"\0") + (b"\1" if i + 21 < n else b"\0") + bytes(7))
            t.f.write(data)
        elif form == "pax 0.1":
            t.add("f", data=data, pax={"GNU.sparse.size": str(n * 4096), "GNU.sparse.numblocks": str(n),
                                       "GNU.sparse.map": ",".join("%d,%d" % r for r in runs)})
        else:
            text = b"".join(b"%d\n" % v for v in [n] + [v for r in runs for v in r])
            t.add("f", data=text + bytes(-len(text) % 512) + data,
                  pax={"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": "f", "GNU.sparse.realsize": str(n * 4096)})


@case("holes of a file in an archive", "GNU", "pax 0.1", "pax 1.0", last=65536)
def _(n, form):
    sparse(n, form)
    return source_of("xw-mkfs", options=("-b", "1024"))


@case("extents of a file", "xw-export", "xw-fsck -fn", "xw-debugfs rdump", "stat", last=131072)
def _(n, tool):
    sparse(n, "GNU")
    image(options=("-b", "1024"))
    os.unlink("in.tar")
    return ["xw-debugfs", "-R", "stat f", "o.img"] if tool == "stat" else reader(tool)


@case("values in inodes of their own", *MAKERS, "xw-export", "xw-export -x", "xw-fsck -fn", "counts wrong", "hashes wrong", last=32768)
def _(n, tool):
    with Tar() as t:
        for i in range(n):
            t.add("f%d" % i, pax={"SCHILY.xattr.user.a": "%d" % i + "v" * 2000})
    options = ("-b", "1024", "-O", "ea_inode")
    if tool == "xw-import":
        run("xw-mkfs", "-q", "--replace", *options, "-N", "1200000", "o.img", "4G")
        return ["xw-import", "-q", "o.img", "in.tar"]
    if tool in MAKERS:
        return source_of(tool, options=options)
    image(options=options)
    if tool.endswith("wrong"):  # the inode of a value has the count of references in its version, a hash in its time of access
        verbs("sif <%d> %s 7" % (12 + i, "version_lo" if tool == "counts wrong" else "atime") for i in range(2 * n))
        tool = "xw-fsck -fy"
    return reader(tool)


# Archives --------------------------------------------------------------------------------------

@case("pax records", "of an entry", last=65536)
@case("pax records", "of the archive", "of headers of the archive", first=500, last=500)
def _(n, where):
    one = lambda i: b"%d comment.%07d=x\n" % (21, i)  # noqa: E731
    with Tar() as t:
        if where == "of headers of the archive":
            for i in range(n):
                t.add("g", b"g", data=one(i))
        else:
            t.add("x", b"x" if where == "of an entry" else b"g", data=b"".join(map(one, range(n))))
        t.add("f")
    return source_of("xw-mkfs")


@case("long names", *MAKERS, "xw-export", last=65536)
def _(n, tool):
    with Tar() as t:
        for i in range(n):
            t.add("/".join(["n" * 200] * 4) + "/" + "m" * 200 + "%d" % i)
    if tool in MAKERS:
        return source_of(tool)
    image()
    return reader(tool)


def blob(data):
    digest = hashlib.sha256(data).hexdigest()
    with open("in/blobs/sha256/" + digest, "wb") as f:
        f.write(data)
    return {"digest": "sha256:" + digest, "size": len(data)}


@case("container image", "layers", "other blobs", first=32, last=16384)
@case("container image", "images", first=32, last=4096)  # an index has at most 8 MiB
def _(n, what):
    os.makedirs("in/blobs/sha256")
    kind = "application/vnd.oci.image."
    layers, ids = [], []
    for i in range(n if what == "layers" else 1):
        files(1, "layer.tar", "f%%d-%d" % i)
        with open("layer.tar", "rb") as f:
            layers.append(dict(blob(f.read()), mediaType=kind + "layer.v1.tar"))
        ids.append(layers[-1]["digest"])
    images = []
    for i in range(n if what == "images" else 1):
        here = {"architecture": "amd64" if not i else "a%d" % i, "os": "linux"}
        config = blob(json.dumps(dict(here, rootfs={"type": "layers", "diff_ids": ids})).encode())
        manifest = {"schemaVersion": 2, "config": dict(config, mediaType=kind + "config.v1+json"), "layers": layers}
        images.append(dict(blob(json.dumps(manifest).encode()), mediaType=kind + "manifest.v1+json", platform=here))
    if what == "other blobs":
        for i in range(n):
            blob(b"%d" % i)
    with open("in/oci-layout", "w") as f:
        f.write('{"imageLayoutVersion": "1.0.0"}')
    with open("in/index.json", "w") as f:
        json.dump({"schemaVersion": 2, "manifests": images}, f)
    run("tar", "-C", "in", "-cf", "in.tar", "oci-layout", "index.json", "blobs")
    return source_of("xw-mkfs", options=("--platform", "linux/amd64"))


# Tables ----------------------------------------------------------------------------------------

def with_table(option, n, line):
    files(n)
    with open("table", "w") as f:
        f.writelines(line % {"i": i} + "\n" for i in range(n))
    return ["xw-mkfs", "-q", "--replace", option, "table", "-d", "in.tar", "o.img"]


@case("lines of a table", "--device-table", "--fs-config", "--owner-map", "--file-contexts")
def _(n, option):
    return with_table(option, n, {"--device-table": "/f%(i)d f 644 1 1 - - - - -", "--fs-config": "f%(i)d 1 1 0644",
                                  "--owner-map": "+%(i)d +%(i)d", "--file-contexts": "/f%(i)d u:r:t:s0"}[option])


