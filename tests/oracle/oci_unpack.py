#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Unpack tar layers in order into a directory by the rules of the OCI image specification.

    oci_unpack.py DIR LAYER.tar...

Written from the specification's text ("Applying Changesets", "Whiteouts"), with nothing of the product in it: a layer's
whiteouts hide what layers below it have, whatever their place in the layer; entries replace what has their name,
but a directory over a directory keeps its content.
"""
import os
import shutil
import stat
import sys
import tarfile


def inside(root, name, make=True):
    """The real place of name's parent below root, symlinks resolved as if root were /; parents are made, or it is None."""
    here = []
    todo = [p for p in name.split("/") if p not in ("", ".")]
    last = todo.pop() if todo else None
    seen = 0
    while todo:
        part = todo.pop(0)
        if part == "..":
            here = here[:-1]
            continue
        path = os.path.join(root, *here, part)
        if os.path.islink(path):
            seen += 1
            assert seen < 40
            target = os.readlink(path)
            if target.startswith("/"):
                here = []
            todo = [p for p in target.split("/") if p not in ("", ".")] + todo
            continue
        if not os.path.isdir(path):
            if not make:
                return None, last
            if os.path.lexists(path):
                os.unlink(path)
            os.mkdir(path, 0o755)
        here.append(part)
    return os.path.join(root, *here), last


def remove(path):
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.unlink(path)


def clear_lower(path, own):
    """Everything below path that this layer did not bring goes; what it brought further down keeps its parents."""
    if not os.path.isdir(path) or os.path.islink(path):
        return
    for name in os.listdir(path):
        child = os.path.join(path, name)
        if child not in own:
            remove(child)
        elif os.path.isdir(child) and not os.path.islink(child):
            clear_lower(child, own)


def apply(root, layer):
    own = set()
    hidden, opaque = [], []
    with tarfile.open(layer) as tar:
        for m in tar:
            marker = os.path.basename(m.name).startswith(".wh.")
            parent, name = inside(root, m.name, not marker)
            if name is None or parent is None:
                continue
            if name == ".wh..wh..opq":
                opaque.append(parent)
                continue
            if marker:
                hidden.append(os.path.join(parent, name[4:]))
                continue
            p = parent
            while p != root:  # the way to what a layer brings is the layer's too; a marker brings nothing
                own.add(p)
                p = os.path.dirname(p)
            path = os.path.join(parent, name)
            own.add(path)
            if not (m.isdir() and os.path.isdir(path) and not os.path.islink(path)):
                remove(path)
            if m.isdir():
                os.makedirs(path, exist_ok=True)
            elif m.issym():
                os.symlink(m.linkname, path)
                continue
            elif m.islnk():
                lp, ln = inside(root, m.linkname)
                os.link(os.path.join(lp, ln), path, follow_symlinks=False)
                continue
            elif m.isfifo():
                os.mkfifo(path)
            else:
                with open(path, "wb") as out:
                    shutil.copyfileobj(tar.extractfile(m), out)
            os.chmod(path, stat.S_IMODE(m.mode))
    for path in hidden:
        if path not in own:
            remove(path)
        else:
            clear_lower(path, own)
    for path in opaque:
        clear_lower(path, own)


def main():
    root = os.path.realpath(sys.argv[1])
    for layer in sys.argv[2:]:
        apply(root, layer)


if __name__ == "__main__":
    main()
