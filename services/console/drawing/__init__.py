"""Pictures of time: what is drawn, in columns, and the element that draws it in the browser."""
