package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strconv"
)

// ports are the ports on loopback that the cluster listens on.
type ports struct {
	EtcdClient, EtcdPeer, APIServer, Subresources, Webhooks, Metrics, Probes, Observer, ObserverMetrics, Git int
}

// address is a port on loopback.
func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// choosePorts takes the ports of the last time, so that kubeconfigs stay valid, and free ones the first time, or where somebody else has
// taken one of them since.
func (c *cluster) choosePorts() error {
	running, err := c.running()
	if err != nil {
		return err
	}
	file := c.path("run", "ports.json")
	content, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil {
		if err := json.Unmarshal(content, &c.ports); err != nil {
			return fmt.Errorf("read %s: %w; to start anew: make dev-reset", file, err)
		}
	}
	if len(running) == 0 && !c.ports.free() {
		c.ports = ports{}
	}
	if err := c.ports.choose(); err != nil {
		return err
	}
	if content, err = json.Marshal(c.ports); err != nil {
		return err
	}
	return os.WriteFile(file, content, 0o600)
}

// all are pointers to all ports.
func (p *ports) all() []*int {
	return []*int{&p.EtcdClient, &p.EtcdPeer, &p.APIServer, &p.Subresources, &p.Webhooks, &p.Metrics, &p.Probes, &p.Observer,
		&p.ObserverMetrics, &p.Git}
}

// free says that nobody listens on any of the ports.
func (p *ports) free() bool {
	for _, port := range p.all() {
		listener, err := net.Listen("tcp", address(*port))
		if err != nil {
			return false
		}
		_ = listener.Close()
	}
	return true
}

// choose picks free ports for those that have none. All are held until the last is chosen, so that none is chosen twice.
func (p *ports) choose() error {
	for _, port := range p.all() {
		if *port != 0 {
			continue
		}
		listener, err := net.Listen("tcp", address(0))
		if err != nil {
			return fmt.Errorf("find a free port: %w", err)
		}
		defer listener.Close()
		addr, ok := listener.Addr().(*net.TCPAddr)
		if !ok {
			return fmt.Errorf("find a free port: %s is no TCP address", listener.Addr())
		}
		*port = addr.Port
	}
	return nil
}
