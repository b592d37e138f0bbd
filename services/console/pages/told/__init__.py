"""Who is told: alerts, what people say of them, and receivers."""
