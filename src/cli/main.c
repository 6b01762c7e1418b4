/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The entry point; everything else is in the library, where tests reach it. */
#include "sluice/cli.h"

int main(int argc, char **argv)
{
    return cli_main(argc, argv);
}
