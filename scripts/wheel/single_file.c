/* The head of the single file for Linux: it unpacks what is appended to it once, and runs it.

   A program and no script, since desktops start programs at a double click and open scripts in an
   editor. NAME is the folder's, BYTES how many follow; make_app.py gives both. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *const STEPS =
    "home=${XDG_CACHE_HOME:-$HOME/.cache}/tilescope\n"
    "folder=$home/" NAME "\n"
    "if [ ! -x \"$folder/tilescope/tilescope\" ]; then\n"
    "  echo \"Unpacking Tilescope into $folder: only this once.\" >&2\n"
    "  mkdir -p \"$home\" && new=$(mktemp -d \"$home/new.XXXXXX\") || exit 2\n"
    "  trap 'rm -rf \"$new\"' EXIT; trap 'exit 130' INT TERM\n"
    "  if ! tail -c " BYTES " \"$0\" | tar -xJf - -C \"$new\"; then\n"
    "    echo \"Tilescope cannot be unpacked: look for space in $home, or download it again.\" >&2\n"
    "    exit 2\n"
    "  fi\n"
    "  mv -T \"$new\" \"$folder\" 2>/dev/null || [ -x \"$folder/tilescope/tilescope\" ] || exit 2\n"
    "  rm -rf \"$new\"; trap - EXIT INT TERM\n"
    "fi\n"
    "exec \"$folder/tilescope/tilescope\" \"$@\"\n";

int main(int count, char **given)
{
    char self[4096];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    char **told = calloc(count + 4, sizeof *told);
    if (length < 0 || !told)
        return perror("tilescope"), 2;
    self[length] = '\0';
    told[0] = "sh";
    told[1] = "-c";
    told[2] = (char *)STEPS;
    told[3] = self;
    for (int i = 1; i < count; i++)
        told[3 + i] = given[i];
    execv("/bin/sh", told);
    return perror("/bin/sh"), 2;
}
