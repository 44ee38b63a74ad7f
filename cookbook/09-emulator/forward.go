package main

import (
	"io"
	"net"
)

// forward passes connections to an address of this machine on to one that listens on loopback alone, for containers.
func forward(address, to string) (net.Listener, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		return nil, err
	}
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			go join(from, to)
		}
	}()
	return l, nil
}

func join(from net.Conn, address string) {
	defer from.Close()
	to, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer to.Close()
	done := make(chan struct{})
	go func() {
		_, _ = io.Copy(to, from)
		close(done)
	}()
	_, _ = io.Copy(from, to)
	<-done
}
