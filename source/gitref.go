package source

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/Masterminds/semver/v3"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// target is the commit that a reference resolves to.
type target struct {
	name   string        // the branch or tag; empty if the source names a commit
	commit plumbing.Hash // what is deployed
	want   plumbing.Hash // what to ask the server for: of an annotated tag, the tag object
	tip    bool          // the server's list of references names the commit
}

// revision is the Artifact.Revision.
func (t target) revision() string {
	if t.name == "" {
		return "sha1:" + t.commit.String()
	}
	return t.name + "@sha1:" + t.commit.String()
}

// refString is a reference as messages show it.
func refString(ref v1alpha1.GitRef) string {
	switch {
	case ref.Branch != "":
		return "branch " + ref.Branch
	case ref.Tag != "":
		return "tag " + ref.Tag
	case ref.Semver != "":
		return "semver " + ref.Semver
	case ref.Commit != "":
		return "commit " + ref.Commit
	default:
		return "default branch"
	}
}

// resolveRef finds the commit of a reference in what a server advertises.
func resolveRef(adv *packp.AdvRefs, ref v1alpha1.GitRef) (target, error) {
	switch {
	case ref.Branch != "":
		return resolveBranch(adv, ref.Branch)
	case ref.Tag != "":
		return resolveTag(adv, ref.Tag)
	case ref.Semver != "":
		return resolveSemver(adv, ref.Semver)
	case ref.Commit != "":
		return resolveCommit(adv, ref.Commit)
	default:
		return resolveHead(adv)
	}
}

func resolveBranch(adv *packp.AdvRefs, branch string) (target, error) {
	hash, ok := adv.References[plumbing.NewBranchReferenceName(branch).String()]
	if !ok {
		return target{}, fmt.Errorf("the repository has no branch %q", branch)
	}
	return target{name: branch, commit: hash, want: hash, tip: true}, nil
}

func resolveTag(adv *packp.AdvRefs, tag string) (target, error) {
	ref := plumbing.NewTagReferenceName(tag).String()
	hash, ok := adv.References[ref]
	if !ok {
		return target{}, fmt.Errorf("the repository has no tag %q", tag)
	}
	t := target{name: tag, commit: hash, want: hash, tip: true}
	if peeled, annotated := adv.Peeled[ref]; annotated {
		t.commit = peeled
	}
	return t, nil
}

// resolveSemver picks the tag with the highest version in the range.
func resolveSemver(adv *packp.AdvRefs, versions string) (target, error) {
	var tags []string
	for ref := range adv.References {
		if tag, ok := strings.CutPrefix(ref, "refs/tags/"); ok {
			tags = append(tags, tag)
		}
	}
	tag, err := highestVersion(tags, versions)
	if err != nil {
		return target{}, err
	}
	return resolveTag(adv, tag)
}

// highestVersion is the tag with the highest version in the range, and of equal versions the last name.
func highestVersion(tags []string, versions string) (string, error) {
	constraint, err := semver.NewConstraint(versions)
	if err != nil {
		return "", fmt.Errorf("semver %q is no range of versions: %w", versions, err)
	}
	var best *semver.Version
	var bestTag string
	for _, tag := range tags {
		// Strict, since 20240131 is a date and not the version 20240131.0.0.
		version, err := semver.StrictNewVersion(strings.TrimPrefix(tag, "v"))
		if err != nil || !constraint.Check(version) {
			continue
		}
		if best == nil || cmp.Or(version.Compare(best), cmp.Compare(tag, bestTag)) > 0 {
			best, bestTag = version, tag
		}
	}
	if best == nil {
		return "", fmt.Errorf("the repository has no tag with a version in the range %q", versions)
	}
	return bestTag, nil
}

// resolveCommit cannot tell whether the commit exists, unless a branch or tag names it.
func resolveCommit(adv *packp.AdvRefs, commit string) (target, error) {
	if !plumbing.IsHash(commit) {
		return target{}, fmt.Errorf("commit %q is not 40 hex digits", commit)
	}
	hash := plumbing.NewHash(commit)
	t := target{commit: hash, want: hash}
	for ref, tip := range adv.References {
		peeled, annotated := adv.Peeled[ref]
		if tip == hash || annotated && peeled == hash {
			t.want, t.tip = tip, true
			break
		}
	}
	return t, nil
}

// resolveHead finds the default branch.
func resolveHead(adv *packp.AdvRefs) (target, error) {
	if adv.Head == nil {
		return target{}, errors.New("the repository has no default branch: its HEAD names a branch without commits; set ref.branch")
	}
	t := target{name: "HEAD", commit: *adv.Head, want: *adv.Head, tip: true} // the name of a detached HEAD
	for _, symref := range adv.Capabilities.Get(capability.SymRef) {
		if branch, ok := strings.CutPrefix(symref, "HEAD:refs/heads/"); ok {
			t.name = branch
		}
	}
	return t, nil
}
