package render

import (
	"bytes"
	"errors"
	"fmt"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"go.yaml.in/yaml/v3"
	kustomizepatch "gopkg.in/evanphx/json-patch.v4"
	"sigs.k8s.io/kustomize/api/filters/patchjson6902"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"
	kyaml "sigs.k8s.io/yaml"

	"github.com/convoy-dev/convoy/api/v1alpha1"
)

// Kustomize takes the limit of its JSON patches from here alone.
func init() { kustomizepatch.AccumulatedCopySizeLimit = maxCopied }

// patch is a strategic merge patch or a JSON patch.
type patch struct {
	selects  func(*resource.Resource) (bool, error)
	apply    func(*resource.Resource) error
	redactor redactor
	target   string // for messages
}

func newPatch(spec v1alpha1.PatchMutation) (*patch, error) {
	encoded, err := kyaml.YAMLToJSON([]byte(spec.Patch))
	if err != nil {
		_, problem := yamlProblem(err)
		return nil, fmt.Errorf("patch: not YAML: %s", problem)
	}
	p := &patch{}
	var node yaml.Node
	if err := yaml.Unmarshal([]byte(spec.Patch), &node); err == nil && len(node.Content) > 0 {
		p.redactor.addNode(node.Content[0])
	}
	if spec.Target != nil {
		if p.selects, err = selector(*spec.Target); err != nil {
			return nil, fmt.Errorf("target: %w", err)
		}
		p.target = fmt.Sprintf("its target %s", describe(*spec.Target))
	}
	if bytes.HasPrefix(encoded, []byte("[")) {
		return p, p.setJSONPatch(encoded)
	}
	return p, p.setMergePatch(encoded)
}

func (p *patch) setJSONPatch(encoded []byte) error {
	if _, err := jsonpatch.DecodePatch(encoded); err != nil {
		return errors.New("patch: not a JSON patch: want a list of operations with op and path")
	}
	if p.selects == nil {
		return errors.New("target: a JSON patch needs one")
	}
	p.apply = func(res *resource.Resource) error {
		return res.ApplyFilter(patchjson6902.Filter{Patch: string(encoded)})
	}
	return nil
}

func (p *patch) setMergePatch(encoded []byte) error {
	patches, err := resourceFactory.SliceFromBytes(encoded)
	if err != nil || len(patches) != 1 {
		return errors.New("patch: want one object, of which only the fields to change are given, or a list of JSON patch operations")
	}
	merged := patches[0]
	if p.selects == nil {
		id := merged.CurId()
		if id.Kind == "" || id.Name == "" {
			return errors.New("target: a patch without apiVersion, kind and metadata.name needs one")
		}
		p.target = fmt.Sprintf("%s %s", id.Kind, id.Name)
		p.selects = func(res *resource.Resource) (bool, error) { return names(id, res.CurId()), nil }
	}
	p.apply = func(res *resource.Resource) error {
		next := merged.DeepCopy()
		next.SetGvk(res.GetGvk())
		return res.ApplySmPatch(next)
	}
	return nil
}

// names says whether a patch that has an identity of its own is for an object. Without a namespace it is for one of any namespace.
func names(patch, object resid.ResId) bool {
	return patch.Name == object.Name && patch.Gvk == object.Gvk && (patch.Namespace == "" || patch.Namespace == object.Namespace)
}

func (p *patch) mutate(m *mutant) (bool, error) {
	res, err := m.asResource()
	if err != nil {
		return false, err
	}
	meant, err := p.selects(res)
	if err != nil || !meant {
		return false, err
	}
	redacted := p.redactor
	if res.GetKind() == "Secret" {
		redacted.addNode(res.YNode())
	}
	if err := p.apply(res); err != nil {
		return false, fmt.Errorf("kustomize: %s", redacted.redact(err.Error()))
	}
	return true, nil
}

func (p *patch) unmet() error { return fmt.Errorf("no object matches %s", p.target) }

// selector selects objects as the targets of kustomize's patches do.
func selector(target v1alpha1.PatchTarget) (func(*resource.Resource) (bool, error), error) {
	expressions, err := types.NewSelectorRegex(&types.Selector{ResId: resid.ResId{
		Gvk:  resid.Gvk{Group: target.Group, Version: target.Version, Kind: target.Kind},
		Name: target.Name, Namespace: target.Namespace,
	}})
	if err != nil {
		return nil, err
	}
	return func(res *resource.Resource) (bool, error) {
		id := res.CurId()
		if !expressions.MatchGvk(id.Gvk) || !expressions.MatchName(id.Name) || !expressions.MatchNamespace(id.EffectiveNamespace()) {
			return false, nil
		}
		byLabels, err := res.MatchesLabelSelector(target.LabelSelector)
		if err != nil {
			return false, fmt.Errorf("target: labelSelector: %w", err)
		}
		byAnnotations, err := res.MatchesAnnotationSelector(target.AnnotationSelector)
		if err != nil {
			return false, fmt.Errorf("target: annotationSelector: %w", err)
		}
		return byLabels && byAnnotations, nil
	}, nil
}

// describe is a target as the spec has it, in one line.
func describe(target v1alpha1.PatchTarget) string {
	encoded, err := kyaml.Marshal(target)
	if err != nil {
		return ""
	}
	return string(bytes.ReplaceAll(bytes.TrimSpace(encoded), []byte("\n"), []byte(", ")))
}
