SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# One setting for every build, so that they share one build cache.
export GOTOOLCHAIN := local
export CGO_ENABLED := 0
export GOFLAGS := -trimpath

.PHONY: help
help: ## List the targets.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: verify
verify: ## Fail if the code is not formatted or does not vet.
	@test -z "$$(gofmt -l $$(git ls-files '*.go') | tee /dev/stderr)"
	go vet ./...

.PHONY: controlplane
controlplane: ## Build etcd, the Kubernetes control plane and kwok into .local/bin; minutes the first time.
	@hack/controlplane/build

.PHONY: test
test: controlplane ## Run all tests.
	go test ./...
