package host

import (
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
	client    *openai.Client
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
	if m.client != nil {
		return m.client, nil
	}
	var err error
	m.client, err = openai.New(openai.Options{
		Name: conf.Name, BaseURL: conf.BaseURL, APIKey: string(conf.APIKey),
		Temperature: conf.Temperature, MaxOutputTokens: conf.MaxOutputTokens,
		Stream: conf.Stream == nil || *conf.Stream, Extra: conf.Extra, Timeout: time.Duration(conf.Timeout),
		Retry: model.Backoff{
			Attempts: conf.Retry.Attempts, Initial: time.Duration(conf.Retry.Initial), Max: time.Duration(conf.Retry.Max),
		},
		Logger: m.log,
	})
	if err != nil {
		return nil, err
	}
	return m.client, nil
}

// close lets go of connections that are kept open.
func (m *models) close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.client != nil {
		return m.client.Close()
	}
	return nil
}
