package render

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// remoteFolder matches, in lower case, all that kustomize takes for a Git repository: a scheme, a user in front of a host, or GitHub.
var remoteFolder = regexp.MustCompile(`^(git::)?(ssh://|https?://|file://|[a-z][a-z0-9-]*@|github\.com[/:])`)

// isRemoteFolder says whether kustomize would clone a repository for an entry, even if a folder of this name exists.
func isRemoteFolder(entry string) bool { return remoteFolder.MatchString(strings.ToLower(entry)) }

// isRemoteFile says whether kustomize would download an entry.
func isRemoteFile(entry string) bool {
	parsed, err := url.Parse(entry)
	return err == nil && (parsed.Scheme == "http" || parsed.Scheme == "https")
}

var userinfo = regexp.MustCompile(`//[^/]*@`)

// errRemote refuses a remote entry. It shows neither credentials nor the query, which may hold some.
func errRemote(entry string) error {
	shown, _, _ := strings.Cut(entry, "?")
	shown, _, _ = strings.Cut(shown, "\n")
	shown = userinfo.ReplaceAllString(shown, "//")
	return fmt.Errorf("%q is remote, and nothing is fetched while rendering: copy it into the repository, "+
		"and name the copy by a path that starts with ./ or ../", shown)
}

// pluginFileFields are the fields in which kustomize's own plugins name files.
var pluginFileFields = []string{"path", "paths", "files", "env", "envs", "targetFilePath"}

// remoteEntry finds a remote file that the configuration of a plugin names. inFileField says that value is in such a field.
func remoteEntry(value any, inFileField bool) (string, bool) {
	switch value := value.(type) {
	case string:
		_, file, _ := strings.Cut(value, "=")
		return value, inFileField && (isRemoteFile(value) || isRemoteFile(file))
	case []any:
		for _, element := range value {
			if entry, found := remoteEntry(element, inFileField); found {
				return entry, true
			}
		}
	case map[string]any:
		for key, element := range value {
			// The plugins decode with encoding/json, which ignores case.
			named := slices.ContainsFunc(pluginFileFields, func(field string) bool { return strings.EqualFold(field, key) })
			if entry, found := remoteEntry(element, inFileField || named); found {
				return entry, true
			}
		}
	}
	return "", false
}
