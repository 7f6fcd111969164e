package host

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/wagent-dev/wagent/host/manifest"
	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/model/openai"
	"github.com/wagent-dev/wagent/host/model/replay"
)

// models makes the model of a run when the first run asks for it, so that tools
// can be listed and called without one.
type models struct {
	manifest *manifest.Manifest
	given    model.Model // instead of the manifest's
	log      *slog.Logger

	mu        sync.Mutex
	clients   []*openai.Client // of the model and its fallbacks
	recording *replay.Recording
}

// forRun returns the model for one run: the one that was given, the endpoint's
// client, which all runs share, or the recording from its beginning.
func (m *models) forRun() (model.Model, error) {
	if m.given != nil {
		return m.given, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	conf := &m.manifest.Model
	if conf.Provider == "replay" {
		return m.play(conf.Recording)
	}
	if conf.Name == "" {
		return nil, m.manifest.Fault("model.name", errors.New("the manifest names no model: write the field, or give --model"))
	}
	return m.dial(conf)
}

func (m *models) play(path string) (model.Model, error) {
	if m.recording == nil {
		var err error
		if m.recording, err = replay.Load(path); err != nil {
			return nil, err
		}
	}
	return m.recording.Model(), nil
}

func (m *models) dial(conf *manifest.Model) (model.Model, error) {
	if m.clients == nil {
		for i, one := range conf.Chain() {
			opts := m.options(&one)
			opts.Apart = i > 0
			client, err := openai.New(opts)
			if err != nil {
				m.clients = nil
				return nil, err
			}
			m.clients = append(m.clients, client)
		}
	}
	if len(m.clients) == 1 {
		return m.clients[0], nil
	}
	all := make([]model.Model, len(m.clients))
	for i, c := range m.clients {
		all[i] = c
	}
	for i, f := range conf.Fallback {
		if f.Prices != (manifest.Prices{}) {
			all[i+1] = priced{m.clients[i+1], pricesOf(f.Prices)}
		}
	}
	return model.Fallback(all...), nil
}

// priced is a client whose tokens have prices of their own.
type priced struct {
	*openai.Client
	prices model.Prices
}

// Generate implements [model.Model].
func (p priced) Generate(ctx context.Context, req *model.Request, sink func(model.Chunk)) (*model.Reply, error) {
	reply, err := p.Client.Generate(ctx, req, sink)
	if err == nil {
		reply.Prices = &p.prices
		return reply, nil
	}
	if failed, ok := errors.AsType[*model.Error](err); ok && failed != nil && failed.Usage != (model.Usage{}) {
		paid := *failed
		paid.Bill = []model.Priced{{Usage: failed.Usage, Prices: &p.prices}}
		return nil, &paid
	}
	return nil, err
}

func pricesOf(p manifest.Prices) model.Prices {
	return model.Prices{Input: p.Input, Cached: p.Cached, Output: p.Output}
}

func (m *models) options(conf *manifest.Model) openai.Options {
	return openai.Options{
		Name: conf.Name, BaseURL: conf.BaseURL, APIKey: string(conf.APIKey), ContextWindow: conf.ContextWindow,
		Temperature: conf.Temperature, MaxOutputTokens: conf.MaxOutputTokens,
		Stream: *conf.Stream, Extra: conf.Extra, Timeout: time.Duration(conf.Timeout),
		Retry: model.Backoff{
			Attempts: conf.Retry.Attempts, Initial: time.Duration(conf.Retry.Initial), Max: time.Duration(conf.Retry.Max),
		},
		Compat: compatOf(&conf.Compat),
		Logger: m.log,
	}
}

func compatOf(c *manifest.Compat) openai.Compat {
	return openai.Compat{
		Reasoning: c.Reasoning, CallIDs: c.CallIDs, SystemRole: c.SystemRole, MaxTokens: c.MaxTokens,
		Order: c.Order, Schemas: c.Schemas, Omit: c.Omit,
		NoImages: c.Images != nil && !*c.Images, NoFiles: c.Files != nil && !*c.Files,
	}
}

// close lets go of connections that are kept open.
func (m *models) close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var errs []error
	for _, c := range m.clients {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}
