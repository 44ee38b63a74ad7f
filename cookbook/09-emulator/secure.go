package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"
)

// secure is TLS before a server of this machine, with a certificate of its own making.
type secure struct {
	url         string
	certificate []byte // PEM; whoever connects has to trust it
	server      *http.Server
}

// serveSecurely serves an address of this machine and passes every request to a server behind.
func serveSecurely(address, behind string) (*secure, error) {
	to, err := url.Parse(behind)
	if err != nil {
		return nil, err
	}
	certificate, text, err := selfSigned(address)
	if err != nil {
		return nil, err
	}
	l, err := tls.Listen("tcp", net.JoinHostPort(address, "0"), &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12})
	if err != nil {
		return nil, err
	}
	s := &secure{
		url: "https://" + l.Addr().String(), certificate: text,
		server: &http.Server{Handler: httputil.NewSingleHostReverseProxy(to), ReadHeaderTimeout: 10 * time.Second},
	}
	go func() { _ = s.server.Serve(l) }()
	return s, nil
}

func selfSigned(address string) (c tls.Certificate, text []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return c, nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "git host of the example"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), IPAddresses: []net.IP{net.ParseIP(address)},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return c, nil, err
	}
	text = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, text, nil
}
