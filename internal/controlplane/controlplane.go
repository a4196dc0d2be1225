package controlplane

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// assetsVariable is the variable by which envtest finds the binaries; it wins over the ones that make controlplane built.
const assetsVariable = "KUBEBUILDER_ASSETS"

// Root is the root of the repository: the nearest folder with a go.mod, from the working directory upwards.
func Root() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the root of the repository: %w", err)
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("find the root of the repository: no go.mod in %s or above it", start)
		}
	}
}

// Bin is the folder with the binaries of the control plane: the one that KUBEBUILDER_ASSETS names, else .local/bin of the repository.
func Bin() (string, error) {
	if dir := os.Getenv(assetsVariable); dir != "" {
		return dir, nil
	}
	root, err := Root()
	if err != nil {
		return "", err
	}
	return filepath.Join(root, ".local", "bin"), nil
}

// Binary is the path of one binary of the control plane. Where it is missing, the error says how to get it.
func Binary(name string) (string, error) {
	bin, err := Bin()
	if err != nil {
		return "", err
	}
	path := filepath.Join(bin, name)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%s is missing: run make controlplane, or set %s to a folder that has it", path, assetsVariable)
	} else if err != nil {
		return "", fmt.Errorf("find %s: %w", name, err)
	}
	return path, nil
}

// ControllerManagerArgs are the arguments of a kube-controller-manager with all its controllers.
//
// kubeconfig is how it reaches the API server, serviceAccountKey the private key that signs the tokens of ServiceAccounts, and rootCA the
// certificate authority that it gives to pods and namespaces: all three are paths.
func ControllerManagerArgs(kubeconfig, serviceAccountKey, rootCA string) []string {
	return []string{
		"--kubeconfig=" + kubeconfig,
		"--service-account-private-key-file=" + serviceAccountKey,
		"--root-ca-file=" + rootCA,
		"--leader-elect=false",
		"--secure-port=0", // no port, so that clusters run side by side
		"--kube-api-qps=1000", "--kube-api-burst=2000",
		"--concurrent-gc-syncs=5", "--concurrent-namespace-syncs=5",
	}
}

// Tail is the end of a log, 20 lines, for a message.
func Tail(path string) string {
	const lines = 20
	content, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	all := bytes.Split(bytes.TrimSpace(content), []byte("\n"))
	return string(bytes.Join(all[max(0, len(all)-lines):], []byte("\n")))
}
