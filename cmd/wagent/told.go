package main

import (
	"context"
	"log/slog"
)

// toldElsewhere reports whether the view of a run says as well what the log says:
// that a call is made again, and what was odd about a reply.
func toldElsewhere(message string) bool {
	return message == "model call is tried again" || message == "model reply"
}

// told is a log without what a person is told anyway.
type told struct{ slog.Handler }

func (t told) Handle(ctx context.Context, r slog.Record) error {
	if toldElsewhere(r.Message) {
		return nil
	}
	return t.Handler.Handle(ctx, r)
}

func (t told) WithAttrs(attrs []slog.Attr) slog.Handler { return told{t.Handler.WithAttrs(attrs)} }

func (t told) WithGroup(name string) slog.Handler { return told{t.Handler.WithGroup(name)} }
