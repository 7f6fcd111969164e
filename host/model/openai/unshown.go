package openai

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"strings"

	"github.com/wagent-dev/wagent/host/model"
	"github.com/wagent-dev/wagent/host/visible"
)

// An endpoint may refuse an image that begins as one should: its end is missing, it is
// too large, there are too many. It would be sent again with each step, and end the run
// each time. So what a tool returned is left out of the conversation in which it was
// refused, and nothing else is: another image may be fine.

const refusedPart = "the model's endpoint refused it"

type digest [sha256.Size]byte

// unshown is the images and files of tools that were refused in one conversation, by
// their bytes. A tool that returns the same again is not shown again.
type unshown struct {
	parts map[digest]bool // replaced when it grows, never changed
	base  *profile        // that own was made of
	own   *profile
}

// unshownIn returns what was refused in the conversation of req so far.
func unshownIn(req *model.Request) *unshown {
	if req.Memo == nil {
		return new(unshown)
	}
	u, ok := req.Memo.Learned.(*unshown)
	if !ok {
		u = new(unshown)
		req.Memo.Learned = u
	}
	return u
}

// profile returns p as it is for this conversation.
func (u *unshown) profile(p *profile) *profile {
	if len(u.parts) == 0 {
		return p
	}
	if u.base != p {
		u.base, u.own = p, p.with(func(q *profile) { q.refused = u.parts })
	}
	return u.own
}

// refuse leaves out what of tools was sent under p and may be meant by a refusal: what
// the newest results hold, since what is older was taken before, and else all. It
// returns what that is, in words.
func (u *unshown) refuse(p *profile, msgs []model.Message, sent *encoded, text string) []string {
	images, files := meant(sent, text)
	suspects := p.suspects(msgs[newest(msgs):], images, files)
	if len(suspects) == 0 {
		suspects = p.suspects(msgs, images, files)
	}
	if len(suspects) == 0 {
		return nil
	}
	parts := maps.Clone(u.parts)
	if parts == nil {
		parts = make(map[digest]bool)
	}
	var what []string
	for _, s := range suspects {
		parts[s.digest] = true
		what = append(what, s.what)
	}
	u.parts, u.base = parts, nil
	return what
}

// meant says which kind a refusal is about; both, when it names none.
func meant(sent *encoded, text string) (images, files bool) {
	images, files = sent.images && aboutImages(text), sent.files && aboutFiles(text)
	if !images && !files {
		return sent.images, sent.files
	}
	return images, files
}

// newest returns where the results of the last step begin.
func newest(msgs []model.Message) int {
	for i := len(msgs) - 1; i >= 0; i-- {
		if msgs[i].Role == model.Assistant {
			return i
		}
	}
	return 0
}

type suspect struct {
	digest digest
	what   string
}

func (p *profile) suspects(msgs []model.Message, images, files bool) []suspect {
	var out []suspect
	for i := range msgs {
		if msgs[i].Role != model.Tool {
			continue
		}
		for k := range msgs[i].Content {
			part := &msgs[i].Content[k]
			if part.Type == model.ImagePart && !images || part.Type == model.FilePart && !files {
				continue
			}
			if sent, ok := p.beside(part); ok {
				out = append(out, suspect{digestOf(part), sent.Describe() + " of the tool " + visible.Line(msgs[i].Name, maxFileName)})
			}
		}
	}
	return out
}

func digestOf(part *model.Part) digest { return sha256.Sum256(part.Data) }

// untaken tells which of the newest results were not sent because an earlier answer
// said that the endpoint takes none.
func (p *profile) untaken(msgs []model.Message, set *Compat) []string {
	if !p.noImages && !p.noFiles {
		return nil
	}
	var images, files int
	for i := newest(msgs); i < len(msgs); i++ {
		for k := range msgs[i].Content {
			part := &msgs[i].Content[k]
			switch _, text := fileText(part); {
			case msgs[i].Role != model.Tool || text:
			case part.Type == model.ImagePart && p.noImages && !set.NoImages:
				images++
			case part.Type == model.FilePart && p.noFiles && !set.NoFiles:
				files++
			}
		}
	}
	var out []string
	if images > 0 {
		out = append(out, fmt.Sprintf("the endpoint takes no images: %d of tools were told as text", images))
	}
	if files > 0 {
		out = append(out, fmt.Sprintf("the endpoint takes no files: %d of tools were told as text", files))
	}
	return out
}

// learnRefused leaves out of the conversation what of tools a refusal is about, and
// says what that was.
func (g *generation) learnRefused(p *profile, e *model.Error, sent *encoded) bool {
	text := strings.ToLower(e.Message + " " + e.Code)
	if !sent.images && !sent.files || !mayBeMedia(e, text) {
		return false
	}
	what := g.unshown.refuse(p, g.req.Messages, sent, text)
	if len(what) == 0 {
		return false
	}
	said := g.client.redact.line(e.Message, maxMessage/2)
	for _, w := range what {
		g.warn(w + " was refused and is left out: " + said)
	}
	g.client.opts.Logger.Warn("the endpoint refused what tools returned: it is left out", "model", g.client.opts.Name,
		"what", what, "error", said)
	return true
}

func (g *generation) warn(w string) {
	if len(g.warnings) < maxWarnings {
		g.warnings = append(g.warnings, w)
	}
}
