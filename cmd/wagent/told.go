package main

import (
	"context"
	"log/slog"
)

// toldElsewhere is what the log says and the view of a run as well.
const toldElsewhere = "model call is tried again"

// told is a log without what a person is told anyway.
type told struct{ slog.Handler }

func (t told) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == toldElsewhere {
		return nil
	}
	return t.Handler.Handle(ctx, r)
}

func (t told) WithAttrs(attrs []slog.Attr) slog.Handler { return told{t.Handler.WithAttrs(attrs)} }

func (t told) WithGroup(name string) slog.Handler { return told{t.Handler.WithGroup(name)} }
