# AX_XW_WARNINGS: keep of the wanted warning flags those that the compiler knows.
AC_DEFUN([AX_XW_WARNINGS], [
XW_CFLAGS="-std=gnu11 -fvisibility=hidden -fno-common"
XW_WARNINGS=
for flag in -Wall -Wextra -Wshadow -Wvla -Wmissing-prototypes -Wstrict-prototypes \
	    -Wpointer-arith -Wcast-align=strict -Wformat=2 -Wnull-dereference \
	    -Wimplicit-fallthrough -Wundef -Wno-missing-field-initializers; do
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
