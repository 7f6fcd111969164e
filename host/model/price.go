package model

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
