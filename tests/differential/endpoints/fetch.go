// SPDX-License-Identifier: GPL-2.0-or-later
// Fetches URL/N for each N of a file with net/http, and writes the results in the format of http_clients.py. The
// argument is URL.
package main

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

func main() {
	text, _ := os.ReadFile("/endpoint/numbers")
	out, _ := os.Create("/endpoint/results")
	client := &http.Client{Timeout: 5 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	client.Transport = &http.Transport{DisableKeepAlives: true}
	numbers := make(chan string)
	encode := base64.StdEncoding.EncodeToString
	var lock sync.Mutex
	var group sync.WaitGroup
	for i := 0; i < 12; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for n := range numbers {
				answer, err := client.Get(os.Args[1] + n)
				if err != nil {
					continue
				}
				body, err := io.ReadAll(io.LimitReader(answer.Body, 1<<19))
				answer.Body.Close()
				var headers bytes.Buffer
				answer.Header.Write(&headers)
				answer.Trailer.Write(&headers)
				good := 1
				if err != nil {
					good = 0
				}
				words := strings.SplitN(answer.Status, " ", 2)
				lock.Lock()
				fmt.Fprintf(out, "%s\t%d\t%s\t%s\t%s\t%s\t\n", n, good, encode([]byte(words[0])), encode([]byte(words[len(words)-1])), encode(headers.Bytes()), encode(body))
				lock.Unlock()
			}
		}()
	}
	for _, n := range strings.Fields(string(text)) {
		numbers <- n
	}
	close(numbers)
	group.Wait()
}
