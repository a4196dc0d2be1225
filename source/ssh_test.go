package source

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/internal/gitserver"
)

// sshServer runs git-upload-pack on the repositories of a folder for the holder of one key.
type sshServer struct {
	ctx      context.Context
	root     string
	address  string
	config   *ssh.ServerConfig
	hostKey  ssh.Signer
	sessions atomic.Int32
}

func newKey(t *testing.T) (ssh.Signer, ed25519.PrivateKey) {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return signer, private
}

// startSSH starts a server that accepts the key of alice, and no user but git.
func startSSH(t *testing.T, root string, alice ssh.PublicKey) *sshServer {
	t.Helper()
	s := &sshServer{ctx: t.Context(), root: root}
	s.hostKey, _ = newKey(t)
	s.config = &ssh.ServerConfig{PublicKeyCallback: func(c ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		if c.User() != "git" || string(key.Marshal()) != string(alice.Marshal()) {
			return nil, fmt.Errorf("no access")
		}
		return nil, nil
	}}
	s.config.AddHostKey(s.hostKey)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	s.address = listener.Addr().String()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go s.serve(conn)
		}
	}()
	return s
}

func (s *sshServer) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	_, channels, requests, err := ssh.NewServerConn(conn, s.config)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	for c := range channels {
		channel, requests, err := c.Accept()
		if err != nil {
			return
		}
		for req := range requests {
			if req.Type == "exec" {
				s.sessions.Add(1)
				go s.exec(channel, string(req.Payload[4:]))
			}
			_ = req.Reply(req.Type == "exec", nil)
		}
	}
}

// exec runs the command as a shell would, in the root folder, where paths begin.
func (s *sshServer) exec(channel ssh.Channel, command string) {
	defer func() { _ = channel.Close() }()
	command = strings.Replace(command, " '/", " '", 1)
	cmd := exec.CommandContext(s.ctx, "sh", "-c", command)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.root, channel, channel.Stderr()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return
	}
	go func() {
		_, _ = io.Copy(stdin, channel)
		_ = stdin.Close()
	}()
	code := 0
	if err := cmd.Run(); err != nil {
		code = 1
	}
	_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Status uint32 }{uint32(code)}))
}

func (s *sshServer) url(repository string) string { return "ssh://git@" + s.address + "/" + repository }

func (s *sshServer) knownHosts(key ssh.PublicKey) string {
	return knownhosts.Line([]string{knownhosts.Normalize(s.address)}, key) + "\n"
}

// newSSHWorld is a world with an SSH server. The Secret alice has access; passphrase too, with an encrypted key.
func newSSHWorld(t *testing.T) (*world, *sshServer) {
	t.Helper()
	w := newWorld(t, gitserver.Options{})
	alice, private := newKey(t)
	s := startSSH(t, w.root, alice.PublicKey())
	plain, err := ssh.MarshalPrivateKey(private, "")
	w.must(err)
	encrypted, err := ssh.MarshalPrivateKeyWithPassphrase(private, "", []byte("s3cr3t"))
	w.must(err)
	mallory, other := newKey(t)
	otherKey, err := ssh.MarshalPrivateKey(other, "")
	w.must(err)
	identity, locked, known := string(pem.EncodeToMemory(plain)), string(pem.EncodeToMemory(encrypted)), s.knownHosts(s.hostKey.PublicKey())
	w.cluster.set(
		secret("alice", map[string]string{"identity": identity, "known_hosts": known}),
		secret("passphrase", map[string]string{"identity": locked, "password": "s3cr3t\n", "known_hosts": known}),
		secret("no-passphrase", map[string]string{"identity": locked, "known_hosts": known}),
		secret("wrong-passphrase", map[string]string{"identity": locked, "password": "s3cr3t-no", "known_hosts": known}),
		secret("mallory", map[string]string{"identity": string(pem.EncodeToMemory(otherKey)), "known_hosts": known}),
		secret("other-host-key", map[string]string{"identity": identity, "known_hosts": s.knownHosts(mallory.PublicKey())}),
		secret("other-host", map[string]string{
			"identity": identity, "known_hosts": knownhosts.Line([]string{"example.com"}, s.hostKey.PublicKey()),
		}),
		secret("broken-hosts", map[string]string{"identity": identity, "known_hosts": "nonsense"}),
		secret("broken-identity", map[string]string{"identity": "s3cr3t nonsense", "known_hosts": known}),
		secret("no-identity", map[string]string{"known_hosts": known}),
		secret("no-hosts", map[string]string{"identity": identity}),
	)
	return w, s
}

func TestSSHWithAKeyAndKnownHosts(t *testing.T) {
	w, s := newSSHWorld(t)
	for _, name := range []string{"alice", "passphrase"} {
		a := w.fetch(gitRequest(s.url("app.git"), mainBranch, name))
		wantFiles(t, a.FS, map[string]string{"app.yaml": "version: 1\n"})
		if want := s.url("app.git") + "@main@sha1:" + w.git("rev-parse", "main"); a.Summary() != want {
			t.Errorf("summary %s, want %s", a.Summary(), want)
		}
	}
	noUser := "ssh://" + s.address + "/app.git"
	w.fetch(gitRequest(noUser, mainBranch, "alice"))
	if n := s.sessions.Load(); n != 3 {
		t.Errorf("%d sessions, want one for each fetch", n)
	}
}

func TestSSHRejectionsSayWhatToDo(t *testing.T) {
	w, s := newSSHWorld(t)
	for name, want := range map[string]string{
		"":                 "secretRef is not set: an ssh:// URL takes identity",
		"mallory":          "unable to authenticate",
		"other-host-key":   s.address + ` shows another host key than key "known_hosts" of Secret team/other-host-key has for it`,
		"other-host":       `key "known_hosts" of Secret team/other-host does not have ` + s.address,
		"broken-hosts":     `Secret team/broken-hosts: key "known_hosts": `,
		"broken-identity":  `Secret team/broken-identity: key "identity" holds no private key that can be read`,
		"no-identity":      `Secret team/no-identity: key "identity" is missing or empty: an ssh:// URL takes identity, a private key; password`,
		"no-hosts":         `Secret team/no-hosts: key "known_hosts" is missing or empty: an ssh:// URL takes`,
		"no-passphrase":    `key "identity" needs a passphrase: put it into key "password"`,
		"wrong-passphrase": `key "identity" holds no private key that can be read`,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := w.fetcher.Fetch(t.Context(), gitRequest(s.url("app.git"), mainBranch, name))
			wantError(t, err, "fetch "+s.url("app.git"), want)
			for _, bad := range []string{"s3cr3t", "nonsense", w.options.CacheDir} {
				if strings.Contains(err.Error(), bad) {
					t.Errorf("the error has %q: %v", bad, err)
				}
			}
		})
	}
	if n := s.sessions.Load(); n != 0 {
		t.Errorf("%d sessions were started", n)
	}
}

func TestSSHErrorsOfTheServerAreShown(t *testing.T) {
	w, s := newSSHWorld(t)
	w.newRepository("empty.git")
	w.fail(gitRequest(s.url("none.git"), mainBranch, "alice"),
		"the server ends the session: fatal: 'none.git' does not appear to be a git repository")
	w.fail(gitRequest(s.url("empty.git"), mainBranch, "alice"), "the repository has no commits")
	w.fail(gitRequest("ssh://git@127.0.0.1:1/app.git", mainBranch, "alice"), "connection refused")
}

func TestSSHPathsReachNoShell(t *testing.T) {
	w, s := newSSHWorld(t)
	odd := "it's $(touch owned) `x`.git"
	w.must(exec.CommandContext(t.Context(), "cp", "-r", w.repo.Dir, filepath.Join(w.root, odd)).Run())
	w.fetch(gitRequest(s.url(strings.ReplaceAll(odd, " ", "%20")), mainBranch, "alice"))
	if found, _ := filepath.Glob(filepath.Join(w.root, "owned")); len(found) != 0 {
		t.Error("a shell ran a part of the path")
	}
}

func TestACommitIsFoundInTheHistoryIfTheServerSendsOnlyTips(t *testing.T) {
	w, s := newSSHWorld(t) // git-upload-pack over ssh sends nothing else by default
	first := w.git("rev-parse", "main")
	w.commit(map[string]string{"app.yaml": "version: 2\n"})
	req := gitRequest(s.url("app.git"), v1alpha1.GitRef{Commit: first}, "alice")
	a := w.fetch(req)
	if a.Revision != "sha1:"+first {
		t.Errorf("revision %s", a.Revision)
	}
	wantFiles(t, a.FS, map[string]string{"app.yaml": "version: 1\n"})
	if n := s.sessions.Load(); n != 2 {
		t.Errorf("%d sessions, want 2: one that was refused, one for the history", n)
	}
	w.fetch(req)
	if n := s.sessions.Load(); n != 3 {
		t.Errorf("%d sessions, want one more, to prove the access", n)
	}
	missing := strings.Repeat("1", 40)
	w.fail(gitRequest(s.url("app.git"), v1alpha1.GitRef{Commit: missing}, "alice"),
		"download commit "+missing+": no branch or tag of the repository has it")

	w.fetcher.git.limits.entries = 0
	w.fetcher.git.limits.artifact, w.fetcher.git.limits.file = 1, 1
	other := w.orphanParent()
	w.fail(gitRequest(s.url("app.git"), v1alpha1.GitRef{Commit: other}, "alice"),
		"the server does not send single commits, and of the whole history:", "the limit of one file is 1")
}

func TestACommitIsSentAloneIfTheServerSaysItCan(t *testing.T) {
	w, s := newSSHWorld(t)
	first := w.git("rev-parse", "main")
	w.commit(map[string]string{"app.yaml": "version: 2\n"})
	w.git("config", "uploadpack.allowAnySHA1InWant", "true")
	a := w.fetch(gitRequest(s.url("app.git"), v1alpha1.GitRef{Commit: first}, "alice"))
	wantFiles(t, a.FS, map[string]string{"app.yaml": "version: 1\n"})
	missing := strings.Repeat("1", 40)
	w.fail(gitRequest(s.url("app.git"), v1alpha1.GitRef{Commit: missing}, "alice"), "download commit "+missing+": ", "not our ref")
	if n := s.sessions.Load(); n != 2 {
		t.Errorf("%d sessions, want one for each fetch", n)
	}
}

func TestFileURLsNeedTheirFlag(t *testing.T) {
	w := newWorld(t, gitserver.Options{}, func(o *Options) { o.AllowFileURLs = true })
	url := "file://" + w.repo.Dir
	a := w.fetch(gitRequest(url, mainBranch, ""))
	wantFiles(t, a.FS, map[string]string{"app.yaml": "version: 1\n"})
	if want := url + "@main@sha1:" + w.git("rev-parse", "main"); a.Summary() != want {
		t.Errorf("summary %s, want %s", a.Summary(), want)
	}
	w.fail(gitRequest("file:///none", mainBranch, ""), "'/none' does not appear to be a git repository")
	w.wantCounts(0, 0)

	w.options.AllowFileURLs = false
	w.restart()
	w.fail(gitRequest(url, mainBranch, ""), "file:// URLs are not allowed here", "--allow-file-urls")
}

func TestAnAbortedFileDownloadEndsTheProgram(t *testing.T) {
	w := newWorld(t, gitserver.Options{}, func(o *Options) { o.AllowFileURLs, o.MaxArtifactSize = true, 1<<20 })
	w.zeros(4 << 20)
	start := time.Now()
	w.fail(gitRequest("file://"+w.repo.Dir, mainBranch, ""), "a file holds 4194304 bytes")
	if took := time.Since(start); took > killDelay {
		t.Errorf("it took %s", took)
	}
}
