package v1alpha1

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// OwnerLabels returns the two labels that mark an object as applied by the Release namespace/name.
func OwnerLabels(namespace, name string) map[string]string {
	return map[string]string{
		ReleaseNameLabel:      OwnerLabelValue(name),
		ReleaseNamespaceLabel: namespace,
	}
}

// OwnerLabelValue returns name as a label value. A label value holds 63 characters and a name up to 253, so a longer name is cut
// and ends in an underscore and 10 hex digits of its SHA-256. No name has an underscore, so the value is no other Release's name.
func OwnerLabelValue(name string) string {
	if len(name) <= validation.LabelValueMaxLength {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	const digits = 10
	head := strings.TrimRight(name[:validation.LabelValueMaxLength-digits-1], "-.")
	return head + "_" + hex.EncodeToString(sum[:])[:digits]
}
