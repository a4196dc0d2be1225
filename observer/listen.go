package observer

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

const (
	// headerDeadline is how long a client may take to say what it wants, and idleDeadline how long it may say nothing between requests.
	headerDeadline = 10 * time.Second
	idleDeadline   = 2 * time.Minute

	// writeDeadline is how long a request may take in all, with the sending of the answer.
	writeDeadline = requestDeadline + 10*time.Second
)

// Certificates are the files of the certificates, in PEM. They may be renewed at any time.
type Certificates struct {
	CertFile, KeyFile string // of the server
	ClientCAFile      string // of the authority that signs those of clients
}

// Listen serves a handler to clients with a certificate, until the context ends.
func Listen(ctx context.Context, listener net.Listener, certificates Certificates, handler http.Handler) error {
	config, err := certificates.config(ctx)
	if err != nil {
		return err
	}
	server := manager.Server{Name: "observer", Listener: tls.NewListener(listener, config), Server: NewHTTPServer(handler)}
	return server.Start(ctx)
}

// NewHTTPServer makes a server on which no client can hang.
func NewHTTPServer(handler http.Handler) *http.Server {
	return &http.Server{
		Handler:           handler,
		ErrorLog:          slog.NewLogLogger(logr.ToSlogHandler(log.Log.WithName("http")), slog.LevelInfo),
		ReadHeaderTimeout: headerDeadline,
		WriteTimeout:      writeDeadline,
		IdleTimeout:       idleDeadline,
	}
}

// config is that of TLS, with the certificates of the moment, which are watched until the context ends.
func (c Certificates) config(ctx context.Context) (*tls.Config, error) {
	serving, err := dynamiccertificates.NewDynamicServingContentFromFiles("observer", c.CertFile, c.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("flags --tls-cert-file and --tls-private-key-file: %w", err)
	}
	clients, err := dynamiccertificates.NewDynamicCAContentFromFile("clients", c.ClientCAFile)
	if err != nil {
		return nil, fmt.Errorf("flag --client-ca-file: %w", err)
	}
	base := &tls.Config{MinVersion: tls.VersionTLS12, ClientAuth: tls.RequireAndVerifyClientCert, NextProtos: []string{"http/1.1"}}
	current := dynamiccertificates.NewDynamicServingCertificateController(base, clients, serving, nil, nil)
	if err := current.RunOnce(); err != nil {
		return nil, fmt.Errorf("read the certificates: %w", err)
	}
	serving.AddListener(current)
	clients.AddListener(current)
	go serving.Run(ctx, 1)
	go clients.Run(ctx, 1)
	go current.Run(1, ctx.Done())
	config := base.Clone()
	config.GetConfigForClient = current.GetConfigForClient
	return config, nil
}
