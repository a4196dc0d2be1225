package apiserver_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/convoy-dev/convoy/internal/controlplane"
	"github.com/convoy-dev/convoy/internal/testenv"
)

// kubectl runs kubectl as a user, with what it reads from its standard input. It returns what it prints, and whether it succeeded.
func kubectl(user testenv.User, input string, args ...string) (string, bool) {
	GinkgoHelper()
	binary, err := controlplane.Binary("kubectl")
	Expect(err).NotTo(HaveOccurred())
	cmd := exec.Command(binary, append([]string{"--kubeconfig", user.Kubeconfig}, args...)...)
	cmd.Stdin = bytes.NewBufferString(input)
	cmd.Env = append(os.Environ(), "KUBE_EDITOR="+editor())
	out, err := cmd.CombinedOutput()
	GinkgoWriter.Printf("kubectl %q: %s%v\n", args, out, err)
	return string(out), err == nil
}

// editor is an editor that changes the renderRef of what it is given.
func editor() string {
	GinkgoHelper()
	path := filepath.Join(GinkgoT().TempDir(), "editor")
	script := "#!/bin/sh\nsed -i s/" + refA + "/" + refB + "/ \"$1\"\n"
	Expect(os.WriteFile(path, []byte(script), 0o700)).To(Succeed())
	return path
}
