// SPDX-License-Identifier: GPL-2.0-or-later
// A TLS server that accepts two server names, and connections without one. The argument is the port.
package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"
)

func main() {
	certificate, err := tls.LoadX509KeyPair("/endpoint/certificate.pem", "/endpoint/key.pem")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	config := &tls.Config{
		Certificates: []tls.Certificate{certificate},
		MinVersion:   tls.VersionTLS10,
		NextProtos:   []string{"http/0.9", "http/1.1"},
		CipherSuites: []uint16{0xc02f, 0xc030, 0xc013, 0xc014, 0x009c, 0x002f, 0x0035},
	}
	config.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		switch strings.ToLower(hello.ServerName) {
		case "", "good.example", "zqvsni.example":
			return nil, nil
		}
		return nil, errors.New("another server name")
	}
	listener, err := net.Listen("tcp", ":"+os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for {
		connection, err := listener.Accept()
		if err != nil {
			continue
		}
		go func() {
			defer connection.Close()
			connection.SetDeadline(time.Now().Add(2 * time.Second))
			tls.Server(connection, config).Handshake()
		}()
	}
}
