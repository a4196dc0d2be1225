package v1alpha1_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/convoy-dev/convoy/api/v1alpha1"
	"github.com/convoy-dev/convoy/internal/testenv"
)

func TestDefaults(t *testing.T) {
	env := testenv.Shared(t)
	want := v1alpha1.ReleaseSpec{
		Source:         v1alpha1.Source{Git: &v1alpha1.GitSource{URL: "https://git.example.com/team/app.git"}},
		Interval:       metav1.Duration{Duration: 10 * time.Minute},
		Timeout:        metav1.Duration{Duration: 5 * time.Minute},
		SyncPolicy:     v1alpha1.SyncPolicy{Mode: v1alpha1.SyncAuto},
		PrunePolicy:    v1alpha1.PrunePolicy{Enabled: ptr.To(true)},
		DeletionPolicy: v1alpha1.DeletionPolicyDelete,
	}
	withRender := want
	withRender.Render.Type = v1alpha1.RenderAuto
	for name, tc := range map[string]struct {
		spec string
		want v1alpha1.ReleaseSpec
	}{
		"nothing but a source": {gitSpec, want},
		"empty structures":     {withField("render: {}\nprunePolicy: {}\nretentionPolicy: {}"), withRender},
		"nulls":                {withField("interval: null\ntimeout: null\nprunePolicy: null\ndeletionPolicy: null"), want},
	} {
		t.Run(name, func(t *testing.T) {
			obj := release(t, env.Namespace(t), tc.spec)
			if err := env.Client.Create(t.Context(), obj); err != nil {
				t.Fatal(err)
			}
			var got v1alpha1.Release
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got.Spec); diff != "" {
				t.Errorf("spec (-want +got):\n%s", diff)
			}
		})
	}
}

func TestASourceIsExactlyOne(t *testing.T) {
	wrong := []string{"spec.source: Invalid value", "exactly one of git, oci, helm, archive and from must be set"}
	tryExamples(t, map[string]example{
		"git":             {gitSpec, nil},
		"from":            {"source: {from: {kind: ConfigMap, name: app}}", nil},
		"none":            {"source: {}", wrong},
		"archive":         {`source: {archive: {url: "https://example.com/app.tgz"}}`, nil},
		"oci":             {`source: {oci: {url: "oci://registry.example.com/team/app"}}`, nil},
		"both":            {`source: {git: {url: "https://git.example.com/app.git"}, from: {kind: ConfigMap, name: app}}`, wrong},
		"two of three":    {`source: {archive: {url: "https://example.com/app.tgz"}, from: {kind: ConfigMap, name: app}}`, wrong},
		"no source":       {"suspend: true", []string{"spec.source: Required value"}},
		"git without url": {"source: {git: {}}", []string{"spec.source.git.url: Required value"}},
	})
}

func TestAGitURLHasASchemeAndNoCredentials(t *testing.T) {
	var (
		scheme      = []string{"spec.source.git.url: Invalid value", "must start with https://, http://, ssh:// or file://, for example https://example.com/team/app.git"}
		plain       = []string{"spec.source.git.url: Invalid value", "must not have white space, a query or a fragment"}
		credentials = []string{"spec.source.git.url: Invalid value", "must not contain credentials: put them into the Secret that secretRef names"}
	)
	tryExamples(t, map[string]example{
		"https":                     {withURL("https://git.example.com/team/app.git"), nil},
		"https with a port":         {withURL("https://git.example.com:8443/team/app.git"), nil},
		"https with @ in the path":  {withURL("https://git.example.com/team/app@2.git"), nil},
		"https of an IPv6 address":  {withURL("https://[::1]:8443/app.git"), nil},
		"http":                      {withURL("http://git.example.com/app.git"), nil},
		"ssh with a user":           {withURL("ssh://git@git.example.com/team/app.git"), nil},
		"ssh with a user and port":  {withURL("ssh://git@git.example.com:2222/team/app.git"), nil},
		"ssh without a user":        {withURL("ssh://git.example.com:2222/team/app@2.git"), nil},
		"file":                      {withURL("file:///srv/git/app.git"), nil},
		"an escaped space":          {withURL("https://git.example.com/my%20team/app.git"), nil},
		"2048 characters":           {withURL("https://git.example.com/" + strings.Repeat("a", 2048-24)), nil},
		"2049 characters":           {withURL("https://git.example.com/" + strings.Repeat("a", 2049-24)), []string{"Too long: may not be more than 2048 bytes"}},
		"nothing":                   {withURL(""), scheme},
		"nothing behind the scheme": {withURL("https://"), scheme},
		"no scheme":                 {withURL("git.example.com/team/app.git"), scheme},
		"another scheme":            {withURL("git://git.example.com/app.git"), scheme},
		"as scp writes it":          {withURL("git@git.example.com:team/app.git"), scheme},
		"a space":                   {withURL("https://git.example.com/my team/app.git"), plain},
		"a line end":                {withURL(`https://git.example.com/app.git\n`), plain},
		"https with a password":     {withURL("https://user:hunter2@git.example.com/app.git"), credentials},
		"https with a user":         {withURL("https://token@git.example.com/app.git"), credentials},
		"https with an empty user":  {withURL("https://@git.example.com/app.git"), credentials},
		"http with a password":      {withURL("http://user:hunter2@git.example.com/app.git"), credentials},
		"ssh with a password":       {withURL("ssh://git:hunter2@git.example.com/app.git"), credentials},
		"a password with an @":      {withURL("ssh://git:hun@ter2@git.example.com/app.git"), credentials},
		"a query":                   {withURL("https://git.example.com/app.git?token=hunter2"), plain},
		"a fragment":                {withURL("https://git.example.com/app.git#main"), plain},
	})
}

func TestAGitRefSelectsOneCommit(t *testing.T) {
	const commit = "0123456789abcdef0123456789abcdef01234567"
	many := []string{"spec.source.git.ref: Invalid value", "at most one of branch, tag, semver and commit may be set"}
	tryExamples(t, map[string]example{
		"nothing":              {withGit("ref: {}"), nil},
		"a branch":             {withGit("ref: {branch: feature/a}"), nil},
		"a tag":                {withGit("ref: {tag: v1.0.0}"), nil},
		"a range":              {withGit(`ref: {semver: ">=1.2.0 <2.0.0"}`), nil},
		"a commit":             {withGit("ref: {commit: " + commit + "}"), nil},
		"a branch and a tag":   {withGit("ref: {branch: main, tag: v1}"), many},
		"a range and a commit": {withGit(`ref: {semver: "1", commit: ` + commit + "}"), many},
		"all":                  {withGit(`ref: {branch: main, tag: v1, semver: "1", commit: ` + commit + "}"), many},
		"a short commit":       {withGit("ref: {commit: abc1234}"), []string{"spec.source.git.ref.commit in body should match '^[0-9a-f]{40}$'"}},
		"an upper-case commit": {withGit("ref: {commit: " + strings.ToUpper(commit) + "}"), []string{"spec.source.git.ref.commit in body should match"}},
		"a long commit":        {withGit("ref: {commit: " + commit + "0}"), []string{"spec.source.git.ref.commit in body should match"}},
		"an empty branch":      {withGit(`ref: {branch: ""}`), []string{"spec.source.git.ref.branch in body should be at least 1 chars long"}},
		"an empty tag":         {withGit(`ref: {tag: ""}`), []string{"spec.source.git.ref.tag in body should be at least 1 chars long"}},
		"an empty range":       {withGit(`ref: {semver: ""}`), []string{"spec.source.git.ref.semver in body should be at least 1 chars long"}},
		"a branch of 255":      {withGit("ref: {branch: " + strings.Repeat("b", 255) + "}"), nil},
		"a branch of 256":      {withGit("ref: {branch: " + strings.Repeat("b", 256) + "}"), []string{"spec.source.git.ref.branch: Too long: may not be more than 255"}},
	})
}

func TestAPathStaysInTheRepository(t *testing.T) {
	wrong := []string{"spec.source.git.path: Invalid value", "must be relative and must not contain '..'"}
	tryExamples(t, map[string]example{
		"a folder":                {withGit("path: deploy/prod"), nil},
		"with a dot in front":     {withGit("path: ./deploy"), nil},
		"with a slash at the end": {withGit("path: deploy/"), nil},
		"with dots in a name":     {withGit("path: deploy..v2/..hidden"), nil},
		"with a space":            {withGit("path: my app"), nil},
		"the root":                {withGit("path: ."), nil},
		"empty":                   {withGit(`path: ""`), nil},
		"1024 characters":         {withGit("path: " + strings.Repeat("a/", 512)), nil},
		"1025 characters":         {withGit("path: " + strings.Repeat("a/", 512) + "a"), []string{"spec.source.git.path: Too long: may not be more than 1024"}},
		"absolute":                {withGit("path: /deploy"), wrong},
		"above":                   {withGit("path: .."), wrong},
		"up in the middle":        {withGit("path: deploy/../../etc"), wrong},
		"up at the end":           {withGit("path: deploy/.."), wrong},
	})
}

func TestAnArchiveHasAURLAndADigest(t *testing.T) {
	of := func(fields string) string { return "source: {archive: {" + fields + "}}" }
	url := func(url string) string { return of(`url: "` + url + `"`) }
	with := func(fields string) string { return of(`url: "https://example.com/app.tgz", ` + fields) }
	const field = "spec.source.archive.url: Invalid value"
	scheme := []string{field, "must start with https:// or http://, for example https://example.com/team/app.tgz"}
	digest := []string{"spec.source.archive.digest in body should match '^sha256:[0-9a-f]{64}$'"}
	path := []string{"spec.source.archive.path: Invalid value", "must be relative and must not contain '..'"}
	tryExamples(t, map[string]example{
		"https":             {url("https://example.com/app.tgz"), nil},
		"http":              {url("http://example.com/app.zip"), nil},
		"everything":        {with(`digest: "sha256:` + strings.Repeat("0a", 32) + `", secretRef: {name: a}, path: deploy/prod`), nil},
		"no url":            {of("path: a"), []string{"spec.source.archive.url: Required value"}},
		"ssh":               {url("ssh://git@example.com/app.tgz"), scheme},
		"file":              {url("file:///srv/app.tgz"), scheme},
		"a query":           {url("https://example.com/app.tgz?token=hunter2"), []string{field, "must not have white space, a query or a fragment"}},
		"a password":        {url("https://bob:hunter2@example.com/app.tgz"), []string{field, "must not contain credentials"}},
		"a short digest":    {with(`digest: "sha256:0a"`), digest},
		"another algorithm": {with(`digest: "sha512:` + strings.Repeat("0a", 64) + `"`), digest},
		"upper case":        {with(`digest: "sha256:` + strings.Repeat("0A", 32) + `"`), digest},
		"an absolute path":  {with("path: /etc"), path},
		"a path up":         {with("path: a/../.."), path},
	})
}

func TestAnOCISourceHasARepositoryAndAtMostOneReference(t *testing.T) {
	of := func(fields string) string { return "source: {oci: {" + fields + "}}" }
	url := func(url string) string { return of(`url: "` + url + `"`) }
	with := func(fields string) string { return of(`url: "oci://registry.example.com:5000/team/app", ` + fields) }
	const field = "spec.source.oci.url: Invalid value"
	like := []string{field, "must be like oci://registry.example.com/team/app"}
	inRef := []string{field, "must not have a tag or digest: put it into ref"}
	sum := "sha256:" + strings.Repeat("0a", 32)
	many := []string{"spec.source.oci.ref: Invalid value", "at most one of tag, semver and digest may be set"}
	tryExamples(t, map[string]example{
		"nothing but a url":     {with(""), nil},
		"everything":            {with("ref: {tag: v1.0.0}, secretRef: {name: a}, path: deploy"), nil},
		"a range":               {with(`ref: {semver: ">=1.0.0"}`), nil},
		"a digest":              {with(`ref: {digest: "` + sum + `"}`), nil},
		"no url":                {of("path: a"), []string{"spec.source.oci.url: Required value"}},
		"https":                 {url("https://registry.example.com/team/app"), like},
		"no repository":         {url("oci://registry.example.com"), like},
		"no host":               {url("oci:///team/app"), like},
		"a tag in the url":      {url("oci://registry.example.com/team/app:v1"), inRef},
		"a digest in the url":   {url("oci://registry.example.com/team/app@" + sum), inRef},
		"a password":            {url("oci://bob:hunter2@registry.example.com/app"), []string{field, "must not contain credentials"}},
		"a query":               {url("oci://registry.example.com/app?a=b"), []string{field, "must not have white space, a query or a fragment"}},
		"a tag and a range":     {with(`ref: {tag: v1, semver: "1"}`), many},
		"a tag that is none":    {with(`ref: {tag: "a/b"}`), []string{"spec.source.oci.ref.tag in body should match"}},
		"a digest that is none": {with(`ref: {digest: "sha256:0a"}`), []string{"spec.source.oci.ref.digest in body should match"}},
		"an empty range":        {with(`ref: {semver: ""}`), []string{"spec.source.oci.ref.semver in body should be at least 1 chars long"}},
		"a path up":             {with("path: ../a"), []string{"spec.source.oci.path: Invalid value", "must be relative"}},
	})
}

func TestAPathIsForTheKindsOfFlux(t *testing.T) {
	examples := map[string]example{}
	for _, kind := range []string{"GitRepository", "OCIRepository", "Bucket", "HelmChart", "ExternalArtifact"} {
		examples[kind] = example{"source: {from: {kind: " + kind + ", name: app, path: deploy}}", nil}
	}
	for _, kind := range []string{"ConfigMap", "Secret"} {
		examples[kind] = example{"source: {from: {kind: " + kind + ", name: app, path: deploy}}",
			[]string{"spec.source.from: Invalid value", "path is for the kinds of Flux: a ConfigMap or Secret has no folders"}}
	}
	examples["a path up"] = example{"source: {from: {kind: Bucket, name: app, path: ../a}}",
		[]string{"spec.source.from.path: Invalid value", "must be relative and must not contain '..'"}}
	tryExamples(t, examples)
}

func TestThePathOfASourceIsThatOfItsMember(t *testing.T) {
	for want, source := range map[string]v1alpha1.Source{
		"git":     {Git: &v1alpha1.GitSource{Path: "git"}},
		"oci":     {OCI: &v1alpha1.OCISource{Path: "oci"}},
		"archive": {Archive: &v1alpha1.ArchiveSource{Path: "archive"}},
		"from":    {From: &v1alpha1.FromSource{Path: "from"}},
		"":        {},
	} {
		if got := source.Path(); got != want {
			t.Errorf("path %q, want %q", got, want)
		}
	}
}

func TestAReferenceHasAName(t *testing.T) {
	long := strings.Repeat("a", 254)
	tryExamples(t, map[string]example{
		"a secret":                 {withGit("secretRef: {name: git}"), nil},
		"a secret without a name":  {withGit("secretRef: {}"), []string{"spec.source.git.secretRef.name: Required value"}},
		"a secret, empty":          {withGit(`secretRef: {name: ""}`), []string{"spec.source.git.secretRef.name in body should be at least 1 chars long"}},
		"a secret, too long":       {withGit("secretRef: {name: " + long + "}"), []string{"spec.source.git.secretRef.name: Too long: may not be more than 253"}},
		"from a Secret":            {"source: {from: {kind: Secret, name: app}}", nil},
		"from another kind":        {"source: {from: {kind: Deployment, name: app}}", []string{`spec.source.from.kind: Unsupported value: "Deployment": supported values: "ConfigMap", "Secret", "GitRepository", "OCIRepository", "Bucket", "HelmChart", "ExternalArtifact"`}},
		"from without a kind":      {"source: {from: {name: app}}", []string{"spec.source.from.kind: Required value"}},
		"from without a name":      {"source: {from: {kind: Secret}}", []string{"spec.source.from.name: Required value"}},
		"from, empty":              {`source: {from: {kind: Secret, name: ""}}`, []string{"spec.source.from.name in body should be at least 1 chars long"}},
		"from, too long":           {"source: {from: {kind: Secret, name: " + long + "}}", []string{"spec.source.from.name: Too long: may not be more than 253"}},
		"a service account":        {withField("serviceAccountName: deployer"), nil},
		"a service account, empty": {withField(`serviceAccountName: ""`), []string{"spec.serviceAccountName in body should be at least 1 chars long"}},
		"a service account, long":  {withField("serviceAccountName: " + long), []string{"spec.serviceAccountName: Too long: may not be more than 253"}},
	})
}

func TestADurationHasAMinimum(t *testing.T) {
	examples := map[string]example{}
	for field, least := range map[string]string{"interval": "30s", "timeout": "1s"} {
		wrong := []string{"spec." + field + ": Invalid value", "must be a duration of at least " + least + ", such as 10m"}
		for value, want := range map[string][]string{
			least: nil, "10m": nil, "1h30m": nil, "1.5h": nil, "1m30s500ms": nil, "87600h": nil,
			"0s": wrong, "999ms": wrong, "-10m": wrong, "1d": wrong, "soon": wrong, `""`: wrong, "10 m": wrong, "999999999h": wrong,
			"600": {"spec." + field + " in body must be of type string"},
		} {
			examples[field+" "+value] = example{withField(field + ": " + value), want}
		}
	}
	tryExamples(t, examples)
}

func TestEnumsListTheirValues(t *testing.T) {
	tryExamples(t, map[string]example{
		"Plain":                     {withField("render: {type: Plain}"), nil},
		"Kustomize":                 {withField("render: {type: Kustomize}"), nil},
		"Helm":                      {withField("render: {type: Helm}"), nil},
		"an unknown renderer":       {withField("render: {type: helm}"), []string{`spec.render.type: Unsupported value: "helm": supported values: "Auto", "Plain", "Kustomize", "Helm"`}},
		"Orphan":                    {withField("deletionPolicy: Orphan"), nil},
		"an unknown policy":         {withField("deletionPolicy: orphan"), []string{`spec.deletionPolicy: Unsupported value: "orphan": supported values: "Delete", "Orphan"`}},
		"a field that is not there": {withField("intervall: 1m"), []string{`unknown field "spec.intervall"`}},
	})
}

func TestMaxDeletesIsANumberOrAPercentage(t *testing.T) {
	wrong := []string{"spec.prunePolicy.maxDeletes: Invalid value", "must be a number from 0 to 2147483647, or a percentage from 0% to 100%"}
	examples := map[string]example{}
	for value, want := range map[string][]string{
		"0": nil, "7": nil, "2147483647": nil, "0%": nil, "5%": nil, "100%": nil,
		"-1": wrong, "2147483648": wrong, "101%": wrong, "-5%": wrong, "1000%": wrong, `"7"`: wrong, `"%"`: wrong, "some": wrong, "5.5%": wrong, `""`: wrong,
		"1.5": {"spec.prunePolicy.maxDeletes in body must be of type"},
	} {
		examples[value] = example{withField("prunePolicy: {maxDeletes: " + value + "}"), want}
	}
	tryExamples(t, examples)
}

func TestKeepHistoryMayBeAnyNumber(t *testing.T) {
	tryExamples(t, map[string]example{
		"0":           {withField("retentionPolicy: {keepHistory: 0}"), nil},
		"negative":    {withField("retentionPolicy: {keepHistory: -1}"), nil},
		"the highest": {withField("retentionPolicy: {keepHistory: 2147483647}"), nil},
		"above":       {withField("retentionPolicy: {keepHistory: 2147483648}"), []string{"spec.retentionPolicy.keepHistory"}},
		"text":        {withField("retentionPolicy: {keepHistory: all}"), []string{"spec.retentionPolicy.keepHistory in body must be of type integer"}},
	})
}

func TestAMutationIsExactlyOne(t *testing.T) {
	wrong := []string{"spec.mutations[0]: Invalid value", "exactly one of namespace, labels, annotations, image, replicas, patch and substitute must be set"}
	tryExamples(t, map[string]example{
		"every kind": {withField(`mutations: [{namespace: a}, {labels: {a: b}}, {annotations: {a: b}}, {image: {name: a, newTag: b}},
			{replicas: {name: a, count: 0}}, {patch: {patch: "{}"}}, {substitute: {vars: {a: b}, from: [{kind: Secret, name: a, optional: true}]}}]`), nil},
		"none":                        {withField("mutations: [{}]"), wrong},
		"two":                         {withField("mutations: [{namespace: a, labels: {a: b}}]"), wrong},
		"an image that stays":         {withField("mutations: [{image: {name: a}}]"), []string{"one of newName, newTag and digest must be set"}},
		"a tag and a digest":          {withField(`mutations: [{image: {name: a, newTag: b, digest: "sha256:c"}}]`), []string{"newTag and digest exclude each other"}},
		"less than no replicas":       {withField("mutations: [{replicas: {name: a, count: -1}}]"), []string{"spec.mutations[0].replicas.count"}},
		"variables of another kind":   {withField("mutations: [{substitute: {from: [{kind: Pod, name: a}]}}]"), []string{"spec.mutations[0].substitute.from[0].kind"}},
		"a namespace that is no name": {withField("mutations: [{namespace: " + strings.Repeat("a", 64) + "}]"), []string{"spec.mutations[0].namespace"}},
	})
}

func TestAChartHasARepositoryAndAName(t *testing.T) {
	tryExamples(t, map[string]example{
		"https":               {`source: {helm: {url: "https://example.com/charts", chart: app, version: ">=1.0.0"}}`, nil},
		"oci":                 {`source: {helm: {url: "oci://example.com/charts", chart: app}}`, nil},
		"a file":              {`source: {helm: {url: "file:///charts", chart: app}}`, []string{"must start with https://, http:// or oci://"}},
		"credentials":         {`source: {helm: {url: "https://me:secret@example.com/charts", chart: app}}`, []string{"must not contain credentials"}},
		"no chart":            {`source: {helm: {url: "https://example.com/charts"}}`, []string{"spec.source.helm.chart: Required value"}},
		"a chart that leaves": {`source: {helm: {url: "https://example.com/charts", chart: ".."}}`, []string{"must be the name of a chart"}},
		"a post-renderer":     {withField("render: {helm: {postRenderer: {command: sh}}}"), []string{`unknown field "spec.render.helm.postRenderer"`}},
		"a path as a chart":   {`source: {helm: {url: "https://example.com/charts", chart: a/b}}`, []string{"spec.source.helm.chart"}},
	})
}

// No flag forbids references across namespaces, since there are none.
func TestNoReferenceReachesAnotherNamespace(t *testing.T) {
	unknown := func(field string) []string { return []string{`unknown field "` + field + `.namespace"`} }
	tryExamples(t, map[string]example{
		"the Secret of git":     {`source: {git: {url: "https://example.com/a.git", secretRef: {name: a, namespace: b}}}`, unknown("spec.source.git.secretRef")},
		"the Secret of oci":     {`source: {oci: {url: "oci://example.com/a", secretRef: {name: a, namespace: b}}}`, unknown("spec.source.oci.secretRef")},
		"the Secret of helm":    {`source: {helm: {url: "https://example.com/a", chart: a, secretRef: {name: a, namespace: b}}}`, unknown("spec.source.helm.secretRef")},
		"the Secret of archive": {`source: {archive: {url: "https://example.com/a.tgz", secretRef: {name: a, namespace: b}}}`, unknown("spec.source.archive.secretRef")},
		"from":                  {`source: {from: {kind: ConfigMap, name: a, namespace: b}}`, unknown("spec.source.from")},
		"values":                {withField("render: {helm: {valuesFrom: [{kind: Secret, name: a, namespace: b}]}}"), unknown("spec.render.helm.valuesFrom[0]")},
		"variables":             {withField("mutations: [{substitute: {from: [{kind: Secret, name: a, namespace: b}]}}]"), unknown("spec.mutations[0].substitute.from[0]")},
	})
}
