// SPDX-License-Identifier: GPL-2.0-or-later
// Answers each request with the parts that net/http has read. The argument is the port.
package main

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
)

func main() {
	log.SetOutput(io.Discard)
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		query := r.URL.RawQuery
		for _, values := range r.URL.Query() {
			for _, value := range values {
				query += " " + value
			}
		}
		fmt.Fprintf(w, "S=<served>\nU=<%s %s %s>\nM=<%s>\nH=<%q>\nC=<%q>\nA=<%q>\nB=<%s>\n", r.RequestURI, r.URL.Path, query, r.Method,
			r.Header["X-M"], r.Header["Cookie"], r.Header["User-Agent"], body)
	})
	fmt.Fprintln(os.Stderr, http.ListenAndServe(":"+os.Args[1], handler))
}
