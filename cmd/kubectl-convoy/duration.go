package main

import (
	"fmt"
	"time"

	"github.com/prometheus/common/model"
)

// span is a flag with a positive length of time, such as 90m, 24h or 7d.
type span time.Duration

// Set reads what was typed.
func (s *span) Set(typed string) error {
	d, err := model.ParseDuration(typed)
	if err != nil || d <= 0 {
		return fmt.Errorf("want a length of time above 0 in the units s, m, h, d and w, the largest first: 90m, 24h, 1d12h or 7d")
	}
	*s = span(d)
	return nil
}

func (s *span) String() string {
	if *s == 0 {
		return ""
	}
	return model.Duration(*s).String()
}

// Type is what the help calls it.
func (*span) Type() string { return "duration" }
