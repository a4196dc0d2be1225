package renderstore

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
)

func TestRenameAcrossFileSystemsNamesTheNextMove(t *testing.T) {
	rename := &os.LinkError{Op: "rename", Old: "/tmp/sha256:ab.18a0b1c2d3e4f567.tmp", New: "/store/team/app/blobs/sha256:ab", Err: syscall.EXDEV}
	err := plain(withHint(rename))
	want := "rename /tmp/sha256:ab /store/team/app/blobs/sha256:ab: invalid cross-device link: add no_tmp_dir=true to the URL of the render store"
	if err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
	if !errors.Is(err, syscall.EXDEV) {
		t.Error("the cause is lost")
	}
	if err := withHint(errors.New("disk full")); strings.Contains(err.Error(), "no_tmp_dir") {
		t.Errorf("got %v", err)
	}
}

func TestTextsAreShownWithoutCredentials(t *testing.T) {
	for text, want := range map[string]string{
		`Put "https://a:b@host/k?sig=c": EOF`:             `Put "https://host/k": EOF`,
		`get s3://a:b@c@host/k and gs://d@host/k?e=f g`:   `get s3://host/k and gs://host/k g`,
		`parse "https://acct.host?sig=%zz": bad`:          `parse "https://acct.host": bad`,
		`write user@host: https://host/path@v1 is fine`:   `write user@host: https://host/path@v1 is fine`,
		`two https://a@b https://c:d@e/f?g=h#i "x://y@z"`: `two https://b https://e/f "x://z"`,
	} {
		if got := withoutCredentials(text); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}
