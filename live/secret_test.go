package live

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func TestASecretThatTheServerWouldNotTakeIsNamedByItsKey(t *testing.T) {
	for name, tc := range map[string]struct{ manifest, want string }{
		"data":                    {`{data: {password: aHVudGVyMg==}}`, ""},
		"data of two lines":       {`{data: {password: "aHVu\ndGVyMg==\n"}}`, ""},
		"text":                    {`{stringData: {password: hunter2}}`, ""},
		"nothing":                 {`{data: null, stringData: {}}`, ""},
		"an empty value":          {`{data: {password: ""}, stringData: {key: null}}`, ""},
		"data that is text":       {`{data: {key: aGk=, password: hunter2!}}`, "data.password: want base64"},
		"data that is a number":   {`{data: {password: 7002}}`, "data.password: want text"},
		"text that is a number":   {`{stringData: {password: 7002}}`, "stringData.password: want text"},
		"text that is a list":     {`{stringData: {password: [hunter2]}}`, "stringData.password: want text"},
		"data that is a list":     {`{data: [hunter2]}`, "data: want a mapping"},
		"text that is no mapping": {`{stringData: hunter2}`, "stringData: want a mapping"},
	} {
		t.Run(name, func(t *testing.T) {
			obj := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(tc.manifest), &obj.Object); err != nil {
				t.Fatal(err)
			}
			obj.SetAPIVersion("v1")
			obj.SetKind("Secret")
			err := checkSecret(obj)
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("got %v, want no error", err)
			case tc.want != "" && (err == nil || !strings.HasPrefix(err.Error(), tc.want)):
				t.Errorf("got %v, want %s", err, tc.want)
			case err != nil && (strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "7002")):
				t.Errorf("it shows the value: %v", err)
			}
		})
	}
}

func TestAnObjectThatIsNoSecretMayHaveAnyData(t *testing.T) {
	obj := &unstructured.Unstructured{Object: map[string]any{"data": map[string]any{"key": "!"}}}
	obj.SetAPIVersion("v1")
	obj.SetKind("ConfigMap")
	if err := checkSecret(obj); err != nil {
		t.Error(err)
	}
}
