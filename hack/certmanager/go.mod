// The version of cert-manager whose CRDs the manifests are tried against. Nothing of it is built.
module github.com/convoy-dev/convoy/hack/certmanager

go 1.26.0

require github.com/cert-manager/cert-manager v1.21.2
