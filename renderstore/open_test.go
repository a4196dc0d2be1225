package renderstore_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/convoy-dev/convoy/renderstore"
)

func TestEachMemoryURLIsAStoreOfItsOwn(t *testing.T) {
	one, other := open(t, "mem://"), open(t, "mem://")
	apply(t, one.Archive("team", "app"), newRender(t, 1), 1)
	if stored(t, other.Archive("team", "app"), newRender(t, 1).Ref()) {
		t.Error("two stores in memory share a render")
	}
}

func TestSchemesAreKnown(t *testing.T) {
	for _, url := range []string{"mem://", "file://" + t.TempDir(), "s3://renders?region=us-east-1", "gs://renders?anonymous=true", "azblob://renders"} {
		store, err := renderstore.Open(t.Context(), url)
		if err != nil {
			t.Errorf("%s: %v", url, err)
			continue
		}
		if !store.Enabled() {
			t.Errorf("%s is not enabled", url)
		}
		if err := store.Close(); err != nil {
			t.Errorf("close %s: %v", url, err)
		}
	}
}

func TestURLThatCannotBeOpened(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ url, want string }{
		{"ftp://renders", `unknown scheme "ftp": want one of azblob://, file://, gs://, mem://, s3://`},
		{"renders", `unknown scheme ""`},
		{"S3 bucket", `unknown scheme ""`},
		{" ", `unknown scheme ""`},
		{"://", "its URL cannot be read"},
		{"s3://AKIA:hunter2", "its URL cannot be read"},
		{"s3://renders\n", "its URL cannot be read"},
		{"s3://", "no bucket: want s3://bucket"},
		{"gs://?anonymous=true", "no bucket: want gs://bucket"},
		{"azblob://", "no bucket: want azblob://bucket"},
		{"s3://renders/team", "the path /team is not read: to keep renders below a prefix use prefix=team/"},
		{"s3://renders?region=us-east-1&key=x", "key= would put everything under one key"},
		{"s3://renders?regoin=us-east-1", `unknown query parameter "regoin"`},
		{"mem://?size=3", `invalid query parameter "size"`},
		{"file://", "no directory: want file:///directory"},
		{"file://var/lib/renders", "var would be read as a host name: want three slashes, as in file:///var/lib/renders"},
		{"file://" + dir + "/none", "no such file or directory: create the directory, or add create_dir=true to the URL"},
		{"file://" + file, "is not a directory"},
		{"file://" + dir + "?prefix=a/", "prefix= is not for file://"},
		{"file://" + dir + "?metadata=other&colour=red", `invalid query parameter "colour"`},
	} {
		store, err := renderstore.Open(t.Context(), c.url)
		if err == nil || store != nil {
			t.Errorf("%q: opened", c.url)
			continue
		}
		if !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "open the render store") {
			t.Errorf("%q: got %q, want it to say %q", c.url, err, c.want)
		}
	}
}

func TestURLThatCannotBeOpenedIsShownWithoutCredentials(t *testing.T) {
	for _, url := range []string{
		"s3://AKIA:hunter2@renders?region=us-east-1",
		"s3://hunter2@renders",
		"s3://AKIA:hun@ter2@renders",
		"s3://AKIA:hunter2",
		"s3://AKIA:hunter2 @renders",
		"s3://AKIA:hunter2/@renders",
		"s3://renders?region=us-east-1&aws_secret_access_key=hunter2",
		"s3://renders?region=us-east-1&secret=a hunter2",
		"s3://renders?region=us-east-1&secret=a\"hunter2",
		"s3://renders?region=us-east-1&endpoint=http://minio:hunter2@127.0.0.1:9000&bad=1",
		"s3://renders?hunter2=1&use_path_style=maybe",
		"gs://renders?anonymous=true&token=hunter2",
		"azblob://renders?sv=2024&sig=hunter2",
		"azblob://:hunter2@renders",
		"ftp://user:hunter2@renders?secret=hunter2",
		"mem://?secret=hunter2",
		"file:///none-such?secret=hunter2",
		"file://user:hunter2@/tmp",
		"%zz://hunter2",
	} {
		store, err := renderstore.Open(t.Context(), url)
		if err == nil {
			store.Close()
			t.Errorf("%q: opened", url)
			continue
		}
		for _, secret := range []string{"hunter2", "ter2", "AKIA"} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%q: the error shows a credential: %v", url, err)
			}
		}
	}
}

func TestErrorOfOpenKeepsSchemeHostAndBucket(t *testing.T) {
	_, err := renderstore.Open(t.Context(), "s3://renders?region=us-east-1&aws_secret_access_key=hunter2")
	want := `open the render store s3://renders: open bucket s3://renders: unknown query parameter "aws_secret_access_key"`
	if err == nil || err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
}
