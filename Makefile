SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# One setting for every build, so that they share one build cache.
export GOTOOLCHAIN := local
export CGO_ENABLED := 0
export GOFLAGS := -trimpath

tool := go tool -modfile=go.tools.mod

# What make generate writes; make verify compares these with what is committed.
generated := ':(glob)**/zz_generated.*' config/crd config/rbac docs/api.md

##@ Try it

.PHONY: help
help: ## List the targets.
	@awk -F ':.*## ' '/^##@ / { print "\n" substr($$0, 5) } /^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: dev-up ## Walk through the main job on a cluster on this machine.
	@hack/demo/run

.PHONY: dev-up
dev-up: deps controlplane build devtools ## Start a cluster of processes, and convoy on it, in the background.
	@.local/bin/devcluster up

.PHONY: dev-down
dev-down: devtools ## Stop the cluster and convoy; their state stays in .local.
	@.local/bin/devcluster down

.PHONY: dev-reset
dev-reset: devtools ## Stop the cluster and convoy, and forget their state.
	@.local/bin/devcluster reset

##@ Change it

.PHONY: build
build: ## Build convoy into .local/bin.
	@go build -v -o .local/bin/ ./cmd/... 2>&1 | hack/progress convoy
	@install -m 0755 cmd/kubectl-convoy/kubectl_complete-convoy .local/bin/

.PHONY: test
test: deps controlplane ## Run all tests.
	go test -p 2 -timeout 20m ./...

.PHONY: bench
bench: deps controlplane ## Run the benchmarks.
	go test -p 1 -timeout 60m -run '^$$' -bench . -benchmem ./...

.PHONY: generate
generate: ## Write deepcopy code, CRDs, OpenAPI schemas, RBAC and the API reference anew.
	$(tool) controller-gen object paths=./api/...
	$(tool) controller-gen crd paths=./api/v1alpha1 output:crd:dir=config/crd
	@hack/openapi
	$(tool) controller-gen rbac:roleName=convoy-controller-manager paths=./controllers/... output:rbac:dir=config/rbac
	$(tool) crd-ref-docs --log-level=ERROR --source-path=api --config=hack/api-reference/config.yaml \
		--renderer=markdown --templates-dir=hack/api-reference/templates --output-path=docs/api.md

.PHONY: verify
verify: generate ## Fail if what is generated, formatted or required is not as committed.
	@hack/verify $(generated)

.PHONY: lint
lint: ## Run golangci-lint.
	$(tool) golangci-lint run ./...

##@ What they need

.PHONY: controlplane
controlplane: ## Build etcd, the Kubernetes control plane and kwok into .local/bin; minutes the first time.
	@hack/controlplane/build

.PHONY: devtools
devtools: ## Build the programs that run the cluster and the demo into .local/bin.
	@go build -v -o .local/bin/ ./hack/devcluster ./hack/gitserver 2>&1 | hack/progress "the programs for the cluster"

.PHONY: deps
deps: ## Install the packages of the operating system that are missing; there are few.
	@hack/install-deps
