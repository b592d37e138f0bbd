"""Records as programs exchange them: fields, and what each record holds."""
