# AX_XW_WARNINGS: keep of the wanted flags those that the compiler knows.
AC_DEFUN([AX_XW_WARNINGS], [
XW_CFLAGS="-std=gnu11 -fno-common"
XW_WARNINGS=
for flag in -Wall -Wextra -Wshadow -Wvla -Wmissing-prototypes -Wstrict-prototypes \
	    -Wpointer-arith -Wcast-align=strict -Wformat=2 -Wnull-dereference \
	    -Wimplicit-fallthrough -Wundef -Wno-missing-field-initializers \
	    -fno-semantic-interposition; do
	save_CFLAGS="$CFLAGS"
	CFLAGS="$CFLAGS -Werror $flag"
	AC_COMPILE_IFELSE([AC_LANG_PROGRAM([], [])], [XW_WARNINGS="$XW_WARNINGS $flag"])
	CFLAGS="$save_CFLAGS"
done
AC_ARG_ENABLE([werror], [AS_HELP_STRING([--enable-werror], [treat warnings as errors])],
	[AS_IF([test "x$enableval" = xyes], [XW_WARNINGS="$XW_WARNINGS -Werror"])])
XW_CFLAGS="$XW_CFLAGS $XW_WARNINGS"
AC_SUBST([XW_CFLAGS])
# The tools run with a stack of 64 KiB. Sanitizers and builds without optimization need larger frames.
XW_FRAME=-Wframe-larger-than=8192
AS_CASE([" $CFLAGS $enable_sanitize $enable_fuzz "],
	[*" -O0 "* | *" yes "* | *" thread "* | *-fsanitize* | *--coverage*], [XW_FRAME=])
AC_SUBST([XW_FRAME])
])

# AX_XW_SANITIZE: --enable-sanitize builds everything with ASan and UBSan, findings are fatal; --enable-sanitize=thread with TSan.
AC_DEFUN([AX_XW_SANITIZE], [
AC_ARG_ENABLE([sanitize],
	[AS_HELP_STRING([--enable-sanitize@<:@=thread@:>@],
		[build with AddressSanitizer and UndefinedBehaviorSanitizer, or with ThreadSanitizer])])
AS_CASE([$enable_sanitize],
	[yes], [XW_SANITIZE_FLAGS="-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer"],
	[thread], [XW_SANITIZE_FLAGS="-fsanitize=thread -fno-omit-frame-pointer"],
	[no | ""], [],
	[AC_MSG_ERROR([--enable-sanitize=$enable_sanitize: must be yes, no or thread])])
AC_SUBST([XW_SANITIZE_FLAGS])
])

# AX_XW_FUZZ: --enable-fuzz (clang only) instruments everything for libFuzzer, with ASan and UBSan, and builds libfuzzer_ROOM.
AC_DEFUN([AX_XW_FUZZ], [
AC_ARG_ENABLE([fuzz],
	[AS_HELP_STRING([--enable-fuzz], [build libFuzzer targets (needs CC=clang)])])
AM_CONDITIONAL([XW_FUZZ], [test "x$enable_fuzz" = xyes])
AS_IF([test "x$enable_fuzz" = xyes], [
	save_CFLAGS="$CFLAGS"
	CFLAGS="$CFLAGS -fsanitize=fuzzer"
	AC_LINK_IFELSE([AC_LANG_SOURCE([[
#include <stddef.h>
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) { return data && size > 1 ? -1 : 0; }
]])], [], [AC_MSG_ERROR([--enable-fuzz needs a compiler with -fsanitize=fuzzer: CC=clang])])
	CFLAGS="$save_CFLAGS"
	XW_SANITIZE_FLAGS="-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer"
])
])

dnl AX_XW_STATIC_WITHOUT(NAME, ARCHIVE): without --with-NAME, --enable-static leaves out a library that is only there as a shared one.
AC_DEFUN([AX_XW_STATIC_WITHOUT], [
AS_IF([test "x$xw_static" = xyes && test "x`$CC -print-file-name=$2`" = "x$2"],
      [with_$1=${with_$1-no}
       AC_MSG_NOTICE([--enable-static: without $1, for there is no $2])])
])

dnl --enable-static: besides static libraries an xw-mkfs.static that needs no other file, for initramfs and empty containers.
AC_DEFUN([AX_XW_STATIC], [
AS_IF([test "x$xw_static" = xyes], [
	xw_static_packages="libarchive blkid uuid $OCI_REQUIRES $ISAL_PC $SELINUX_PC"
	XW_STATIC_LIBS=`$PKG_CONFIG --static --libs $xw_static_packages`
	xw_save_LIBS=$LIBS xw_save_LDFLAGS=$LDFLAGS
	LIBS="$XW_STATIC_LIBS $LIBS" LDFLAGS="$LDFLAGS -static"
	AC_MSG_CHECKING([for static libraries of $xw_static_packages])
	AC_LINK_IFELSE([AC_LANG_PROGRAM([[
#include <archive.h>
#include <blkid/blkid.h>
]], [[struct archive *a = archive_read_new();
archive_read_support_filter_all(a);
archive_read_support_format_zip(a);
return !blkid_new_probe();]])], [xw_static_links=yes], [xw_static_links=no])
	LIBS=$xw_save_LIBS LDFLAGS=$xw_save_LDFLAGS
	AC_MSG_RESULT([$xw_static_links])
	xw_missing=
	for xw_lib in $XW_STATIC_LIBS; do
		AS_CASE([$xw_lib], [-l*], [xw_lib=lib`AS_ECHO([$xw_lib]) | sed s/^-l//`.a], [continue])
		xw_at=`$CC -print-file-name=$xw_lib`
		AS_IF([test "x$xw_at" = "x$xw_lib"], [xw_missing="$xw_missing $xw_lib"])
	done
	AS_IF([test "x$xw_static_links" = xno], [AC_MSG_ERROR(
		[--enable-static: libarchive cannot be linked statically; missing:${xw_missing:- see config.log}])])
	AC_MSG_NOTICE([xw-mkfs.static reads no xar archives (they need libxml2), and knows no names of users but root's without /etc/passwd])
])
AC_SUBST([XW_STATIC_LIBS])
AM_CONDITIONAL([XW_STATIC], [test "x$xw_static" = xyes])
])
