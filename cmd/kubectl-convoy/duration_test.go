package main

import (
	"strings"
	"testing"
	"time"
)

func TestALengthOfTimeMayBeInDays(t *testing.T) {
	for typed, want := range map[string]time.Duration{
		"24h":   24 * time.Hour,
		"90m":   90 * time.Minute,
		"7d":    7 * 24 * time.Hour,
		"1d12h": 36 * time.Hour,
		"2w":    14 * 24 * time.Hour,
		"10s":   10 * time.Second,
	} {
		var got span
		if err := got.Set(typed); err != nil || time.Duration(got) != want {
			t.Errorf("%s was read as %s (error %v), want %s", typed, time.Duration(got), err, want)
		}
	}
}

func TestWhatIsNoLengthOfTimeIsRefusedAndTold(t *testing.T) {
	for _, typed := range []string{"", "0", "0s", "-1h", "24", "tomorrow", "12h1d", "1.5h", "99999999999999999w", "24 h"} {
		var got span
		err := got.Set(typed)
		if err == nil || !strings.Contains(err.Error(), "90m, 24h, 1d12h or 7d") {
			t.Errorf("%q: got %s and the error %v, want an error that shows what will do", typed, time.Duration(got), err)
		}
	}
}

func TestAPinEndsNoSoonerThanAskedInWholeSeconds(t *testing.T) {
	for d, want := range map[time.Duration]time.Time{
		time.Hour:                    noon.Add(time.Hour),
		time.Hour + time.Nanosecond:  noon.Add(time.Hour + time.Second),
		time.Hour - time.Millisecond: noon.Add(time.Hour),
	} {
		if got := endOf(d, noon); !got.Time.Equal(want) {
			t.Errorf("%s from noon ends at %s, want %s", d, got.Time, want)
		}
	}
}
