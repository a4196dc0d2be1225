// Command gitserver serves the bare Git repositories of a folder over HTTP, for the demo.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/convoy-dev/convoy/internal/gitserver"
)

func main() {
	root := flag.String("root", ".", "the folder with the repositories")
	address := flag.String("address", "127.0.0.1:0", "where to listen; port 0 is a free one")
	flag.Parse()
	if err := serve(*root, *address); err != nil {
		fmt.Fprintf(os.Stderr, "gitserver: serve %s: %v\n", *root, err)
		os.Exit(1)
	}
}

// serve serves until it is told to stop.
func serve(root, address string) error {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	server, err := gitserver.Start(root, gitserver.Options{Address: address})
	if err != nil {
		return err
	}
	fmt.Println("serving", server.URL(""))
	<-ctx.Done()
	return server.Stop()
}
