package model

import "slices"

// Prices are what tokens cost, in any currency, by the million. The zero value is no
// price at all.
type Prices struct {
	Input  float64 // tokens of the request
	Cached float64 // those of them that the provider had in its cache; 0: as Input
	Output float64 // tokens of the reply, its reasoning included
}

// Cost returns what u costs. Cached tokens are part of the prompt's, as reasoning is
// of the completion's: so it is in the usage of OpenAI's chat completions.
func (p Prices) Cost(u Usage) float64 {
	cachedPrice := p.Cached
	if cachedPrice == 0 {
		cachedPrice = p.Input
	}
	cached := min(u.CachedTokens, u.PromptTokens)
	return (float64(u.PromptTokens-cached)*p.Input + float64(cached)*cachedPrice + float64(u.CompletionTokens)*p.Output) / 1e6
}

// Priced is a part of what was spent, and what its tokens cost.
type Priced struct {
	Usage  Usage
	Prices *Prices // nil: those of the model that was asked
}

// Spent returns the tokens of all attempts at a reply.
func (r *Reply) Spent() Usage { return r.Usage.Add(r.Retried) }

// Cost returns what all attempts at a reply cost, where a model without prices of its
// own has those of the one that was asked.
func (r *Reply) Cost(asked Prices) float64 {
	return costOf(billOf(r.Spent(), r.Bill, r.Prices), asked)
}

// Cost returns what the attempts cost that failed, likewise.
func (e *Error) Cost(asked Prices) float64 { return costOf(billOf(e.Usage, e.Bill, nil), asked) }

// billOf returns the parts of u, which is one if no parts are known.
func billOf(u Usage, parts []Priced, p *Prices) []Priced {
	if parts == nil && u != (Usage{}) {
		return []Priced{{u, p}}
	}
	return parts
}

func costOf(bill []Priced, asked Prices) float64 {
	total := 0.0
	for _, p := range bill {
		if p.Prices == nil {
			p.Prices = &asked
		}
		total += p.Prices.Cost(p.Usage)
	}
	return total
}

// apart says that some part has prices of its own, so that the sum of the tokens does
// not tell what they cost.
func apart(bill []Priced) bool {
	return slices.ContainsFunc(bill, func(p Priced) bool { return p.Prices != nil })
}
