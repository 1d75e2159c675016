/* SPDX-License-Identifier: MIT */
/* image.c: see image.h. */
#include "reclog/image.h"

#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fdio.h"
#include "reclog/reader.h"

static int head_check(const struct rlog_image *h, size_t size, const char *path, uint32_t ordinal, struct err *e)
{
	const uint64_t have = size - sizeof(*h);

	if (h->magic != RLOG_MAGIC_IMAGE)
		return err_set(e, ERR_USAGE, "%s: damaged at offset 0: not a process image", path);
	if (reader_version_check(path, h->version, e))
		return -1;
	if (h->process != ordinal)
		return err_set(e, ERR_USAGE, "%s: damaged at offset %zu: it is about process %u", path,
			       offsetof(struct rlog_image, process), h->process);
	if (h->origin != RLOG_ORIGIN_EXEC && h->origin != RLOG_ORIGIN_FORK)
		return err_set(e, ERR_USAGE, "%s: damaged at offset %zu: unknown origin %u", path,
			       offsetof(struct rlog_image, origin), h->origin);
	/* A process has its ordinal before it can have children, so the parent's is smaller. */
	if (h->parent >= ordinal)
		return err_set(e, ERR_USAGE, "%s: damaged at offset %zu: its parent is process %u", path,
			       offsetof(struct rlog_image, parent), h->parent);
	if (h->origin == RLOG_ORIGIN_FORK && !h->parent)
		return err_set(e, ERR_USAGE, "%s: damaged at offset %zu: forked by no process", path,
			       offsetof(struct rlog_image, parent));
	if (h->strings_len > have)
		return err_set(e, ERR_USAGE, "%s: truncated at offset %zu: %lu bytes are missing", path, size,
			       (unsigned long)(h->strings_len - have));
	if ((uint64_t)h->argc + h->envc > h->strings_len)
		return err_set(e, ERR_USAGE, "%s: damaged at offset %zu: %u arguments in %lu bytes", path,
			       offsetof(struct rlog_image, argc), h->argc, (unsigned long)h->strings_len);
	return 0;
}

/* Takes the string at *p and moves *p after its NUL; NULL when there is none before end. */
static char *next_string(char **p, char *end)
{
	char *s = *p, *nul = s < end ? memchr(s, 0, (size_t)(end - s)) : NULL;

	if (!nul)
		return NULL;
	*p = nul + 1;
	return s;
}

static bool take_strings(struct rec_image *img, char *p, char *end)
{
	if (!(img->execfn = next_string(&p, end)) || !(img->exe = next_string(&p, end)) ||
	    !(img->cwd = next_string(&p, end)))
		return false;
	for (uint32_t i = 0; i < img->head.argc; i++)
		if (!(img->argv[i] = next_string(&p, end)))
			return false;
	for (uint32_t i = 0; i < img->head.envc; i++)
		if (!(img->envp[i] = next_string(&p, end)))
			return false;
	return true;
}

int rec_image_read(struct rec_image *img, const char *path, uint32_t ordinal, struct err *e)
{
	cleanup_buf struct buf b = {0};
	static char empty[] = "";

	*img = (struct rec_image){.ordinal = ordinal, .execfn = empty, .exe = empty, .cwd = empty};
	if (read_file(path, &b, e))
		return -1;
	if (b.len < sizeof(img->head))
		return err_set(e, ERR_USAGE, "%s: truncated at offset %zu: a head takes %zu bytes", path, b.len,
			       sizeof(img->head));
	memcpy(&img->head, b.data, sizeof(img->head));
	if (head_check(&img->head, b.len, path, ordinal, e))
		return -1;
	img->argv = xcalloc((size_t)img->head.argc + 1, sizeof(char *));
	img->envp = xcalloc((size_t)img->head.envc + 1, sizeof(char *));
	img->strings = xmalloc(img->head.strings_len + 1);
	memcpy(img->strings, b.data + sizeof(img->head), img->head.strings_len);
	if (img->head.origin == RLOG_ORIGIN_EXEC &&
	    b.len - sizeof(img->head) - img->head.strings_len >= sizeof(img->begin)) {
		memcpy(&img->begin, b.data + sizeof(img->head) + img->head.strings_len, sizeof(img->begin));
		img->has_begin = true;
	}
	if (img->head.origin == RLOG_ORIGIN_EXEC &&
	    !take_strings(img, img->strings, img->strings + img->head.strings_len)) {
		err_set(e, ERR_USAGE,
			"%s: damaged after offset %zu: fewer strings than its head says (%u "
			"arguments, %u "
			"variables)",
			path, sizeof(img->head), img->head.argc, img->head.envc);
		rec_image_fini(img);
		return -1;
	}
	return 0;
}

void rec_image_fini(struct rec_image *img)
{
	free(img->argv);
	free(img->envp);
	free(img->threads);
	free(img->strings);
	rec_start_free(img->start);
	*img = (struct rec_image){0};
}
