// SPDX-License-Identifier: GPL-2.0-or-later
// Filebeat without the inputs of its non-free part. Its modules are files, which filebeat.py adds.
package main

import (
	"os"

	"github.com/elastic/beats/v7/filebeat/cmd"
	inputs "github.com/elastic/beats/v7/filebeat/input/default-inputs"
)

func main() {
	if err := cmd.Filebeat(inputs.Init, cmd.FilebeatSettings()).Execute(); err != nil {
		os.Exit(1)
	}
}
