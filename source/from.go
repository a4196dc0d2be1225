package source

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"testing/fstest"

	corev1 "k8s.io/api/core/v1"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// fetch returns the files that a ConfigMap or Secret holds.
func (r objectReader) fetch(ctx context.Context, namespace string, src *v1alpha1.FromSource) (*Artifact, error) {
	origin := OriginOf(v1alpha1.Source{From: src})
	files, err := r.files(ctx, namespace, src)
	if err != nil {
		return nil, fmt.Errorf("fetch %s: %w", origin, err)
	}
	tree := fstest.MapFS{}
	for name, content := range files {
		tree[name] = &fstest.MapFile{Data: content, Mode: 0o444}
	}
	return &Artifact{Revision: "sha256:" + digest(files), Origin: origin, FS: tree}, nil
}

// files reads the object; its keys are the file names.
func (r objectReader) files(ctx context.Context, namespace string, src *v1alpha1.FromSource) (map[string][]byte, error) {
	files := map[string][]byte{}
	switch src.Kind {
	case v1alpha1.FromConfigMap:
		var obj corev1.ConfigMap
		if err := r.get(ctx, string(src.Kind), namespace, src.Name, &obj); err != nil {
			return nil, err
		}
		for name, content := range obj.Data {
			files[name] = []byte(content)
		}
		for name, content := range obj.BinaryData {
			files[name] = content
		}
	case v1alpha1.FromSecret:
		var obj corev1.Secret
		if err := r.get(ctx, string(src.Kind), namespace, src.Name, &obj); err != nil {
			return nil, err
		}
		for name, content := range obj.Data {
			files[name] = content
		}
	default:
		return nil, fmt.Errorf("kind %q is neither ConfigMap nor Secret", src.Kind)
	}
	return files, nil
}

// digest is the SHA-256, in hex, of a canonical form of named values: a JSON object with sorted keys and base64 values.
func digest(values map[string][]byte) string {
	canonical, err := json.Marshal(values)
	if err != nil {
		panic(err) // a map of strings to bytes always marshals
	}
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:])
}
