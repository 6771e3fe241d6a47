/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "api/tell.h"

static void forward_log(void *arg, enum xw_log_level level, const char *line)
{
	const struct xw_log_to *to = arg;

	to->cb(to->arg, (enum xw_severity)level, line);
}

void xw_forward_log(struct xw_diag *diag, struct xw_log_to *to, xw_log_cb *cb, void *arg)
{
	*to = (struct xw_log_to){cb, arg};
	diag->log = cb ? forward_log : NULL;
	diag->log_arg = to;
}

double xw_seconds_since(const struct timespec *t)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - t->tv_sec) + (double)(now.tv_nsec - t->tv_nsec) / 1e9;
}

void xw_put_uuid(struct xw_json *j, const uint8_t uuid[16])
{
	static const char hex[] = "0123456789abcdef";
	char text[36], *p = text;

	for (unsigned i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			*p++ = '-';
		*p++ = hex[uuid[i] >> 4];
		*p++ = hex[uuid[i] & 15];
	}
	xw_json_str(j, "uuid", text, sizeof(text));
}
