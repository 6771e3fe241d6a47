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
])

# AX_XW_SANITIZE: --enable-sanitize builds everything with ASan and UBSan, findings are fatal.
AC_DEFUN([AX_XW_SANITIZE], [
AC_ARG_ENABLE([sanitize],
	[AS_HELP_STRING([--enable-sanitize], [build with AddressSanitizer and UndefinedBehaviorSanitizer])])
AM_CONDITIONAL([XW_SANITIZE], [test "x$enable_sanitize" = xyes])
AS_IF([test "x$enable_sanitize" = xyes],
	[XW_SANITIZE_FLAGS="-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer"])
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
