package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/skeema/knownhosts"
	"golang.org/x/crypto/ssh"
)

const (
	defaultSSHUser = "git"
	defaultSSHPort = "22"
)

// dialSSH connects, checks the host key and starts git-upload-pack. go-git's own transport has no deadline for the handshake, and
// reads the configuration of the machine.
func (d dialer) dialSSH(ctx context.Context, u *url.URL, c credentials) (conversation, error) {
	address := net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), defaultSSHPort))
	config, err := c.sshConfig(d.tmp, cmp.Or(u.User.Username(), defaultSSHUser), address)
	if err != nil {
		return nil, err
	}
	conn, err := (&net.Dialer{Timeout: connectTimeout}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	secured, channels, requests, err := ssh.NewClientConn(conn, address, config)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	client := ssh.NewClient(secured, channels, requests)
	talk, err := d.startUploadPack(client, u.Path)
	if err != nil {
		_ = client.Close()
		return nil, err
	}
	return talk, nil
}

func (d dialer) startUploadPack(client *ssh.Client, path string) (*pipe, error) {
	session, err := client.NewSession()
	if err != nil {
		return nil, err
	}
	talk := &pipe{limits: d.limits, stderr: &head{max: maxMessage}, wait: session.Wait, abort: client.Close}
	session.Stderr = talk.stderr
	if talk.stdin, err = session.StdinPipe(); err != nil {
		return nil, err
	}
	if talk.stdout, err = session.StdoutPipe(); err != nil {
		return nil, err
	}
	if strings.HasPrefix(path, "/~") {
		path = path[1:] // relative to a home directory
	}
	return talk, session.Start(transport.UploadPackServiceName + " '" + strings.ReplaceAll(path, "'", `'\''`) + "'")
}

// sshConfig accepts only host keys in known_hosts, and asks the server for one that is there.
func (c credentials) sshConfig(tmp, user, address string) (*ssh.ClientConfig, error) {
	known, err := c.hostKeys(tmp)
	if err != nil {
		return nil, err
	}
	verify := known.HostKeyCallback()
	return &ssh.ClientConfig{
		User:              user,
		Auth:              []ssh.AuthMethod{ssh.PublicKeys(c.signer)},
		HostKeyAlgorithms: known.HostKeyAlgorithms(address),
		HostKeyCallback: func(hostname string, remote net.Addr, key ssh.PublicKey) error {
			err := verify(hostname, remote, key)
			switch {
			case knownhosts.IsHostUnknown(err):
				return fmt.Errorf("key %q of %s does not have %s", keyKnownHosts, c.secret, address)
			case knownhosts.IsHostKeyChanged(err):
				return fmt.Errorf("%s shows another host key than key %q of %s has for it", address, keyKnownHosts, c.secret)
			}
			return err
		},
	}, nil
}

// hostKeys parses known_hosts. The library reads files only.
func (c credentials) hostKeys(tmp string) (*knownhosts.HostKeyDB, error) {
	f, err := os.CreateTemp(tmp, "known_hosts-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	_, err = f.Write(c.knownHosts)
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	known, err := knownhosts.NewDB(f.Name())
	if err != nil {
		return nil, fmt.Errorf("%s: key %q: %s", c.secret, keyKnownHosts, strings.ReplaceAll(err.Error(), f.Name(), "line"))
	}
	return known, nil
}
