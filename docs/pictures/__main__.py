"""Draw every picture that the code alone decides: `python -m docs.pictures`."""

from docs.pictures import coalescing, papers, timing_join, what_p_means, window_join
from docs.pictures.style import save

for page in (timing_join, what_p_means, window_join, coalescing, papers):
    for path, (draw, numbers) in page.PICTURES.items():
        save(draw(), path, numbers())
